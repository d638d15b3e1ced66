/* Writes a field to an HDF5 file with an error of at most 0.01 and reads it back. Every other HDF5 program can read the file too, once
 * HDF5_PLUGIN_PATH names the folder of libh5fzgm.so.
 *
 *   cc hdf5.c -I<prefix>/include $(pkg-config --cflags --libs hdf5) -lm -o hdf5
 *   HDF5_PLUGIN_PATH=<prefix>/lib/fzgm/hdf5 ./hdf5
 */
#include <fzgm_hdf5.h>
#include <math.h>
#include <stdio.h>

#define ROWS 300
#define COLUMNS 400

static float field[ROWS][COLUMNS], restored[ROWS][COLUMNS];

int main(void) {
  hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {100, 200};
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) field[i][j] = (float)(280 + 10 * sin(i / 30.0) * cos(j / 50.0));

  hid_t file = H5Fcreate("field.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(dcpl, 2, chunk);
  H5Pset_fzgm(dcpl, FZGM_ABS, 0.01);
  hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  if (set < 0) return 1; /* the error stack contains the reason: no plugin, or a bound that does not fit */
  if (H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field) < 0) return 1;
  hsize_t stored = H5Dget_storage_size(set);
  H5Dclose(set);
  H5Pclose(dcpl);
  H5Sclose(space);
  H5Fclose(file);

  file = H5Fopen("field.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "field", H5P_DEFAULT);
  if (H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0) return 1;
  H5Dclose(set);
  H5Fclose(file);
  float most = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) most = fmaxf(most, fabsf(field[i][j] - restored[i][j]));
  printf("field.h5: %.1f times smaller, largest error %g\n", sizeof field / (double)stored, (double)most);
  return most <= 0.01f ? 0 : 1;
}
