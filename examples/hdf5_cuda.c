/* Compresses a field that lies on a GPU there, chunk after chunk, and writes it to an HDF5 file. Every HDF5 program can read the file, with
 * a GPU or without, once HDF5_PLUGIN_PATH names the folder of libh5fzgm.so.
 *
 *   cc hdf5_cuda.c -I<prefix>/include $(pkg-config --cflags --libs fzgm hdf5) -lcudart -lm -o hdf5_cuda
 *   HDF5_PLUGIN_PATH=<prefix>/lib/fzgm/hdf5 ./hdf5_cuda
 */
#include <cuda_runtime.h>
#include <fzgm_hdf5_chunks.h>
#include <math.h>
#include <stdio.h>

#define LAYERS 8
#define ROWS 300
#define COLUMNS 400
#define CHUNK (ROWS * COLUMNS)

static float field[LAYERS][ROWS][COLUMNS], restored[LAYERS][ROWS][COLUMNS];

int main(void) {
  const hsize_t dims[3] = {LAYERS, ROWS, COLUMNS}, chunk[3] = {1, ROWS, COLUMNS};
  float *on_gpu;
  for (int k = 0; k < LAYERS; k++)
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < COLUMNS; j++) field[k][i][j] = (float)(280 + 10 * sin(i / 30.0 + k) * cos(j / 50.0));
  /* In place of a simulation. A chunk has to be contiguous there: whole layers are. */
  if (cudaMalloc((void **)&on_gpu, sizeof field) != cudaSuccess) return 1;
  if (cudaMemcpy(on_gpu, field, sizeof field, cudaMemcpyHostToDevice) != cudaSuccess) return 1;

  hid_t file = H5Fcreate("field_cuda.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, dims, NULL);
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(dcpl, 3, chunk);
  H5Pset_fzgm(dcpl, FZGM_ABS, 0.01);
  hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  if (set < 0) return 1; /* the error stack contains the reason: no plugin, or a bound that does not fit */

  fzgm_chunks chunks;
  int status = fzgm_chunks_open(&chunks, set, FZ_DEVICE_AUTO);
  if (status != 0) return fprintf(stderr, "%s\n", fz_last_error()), 1;
  for (hsize_t k = 0; k < LAYERS && status == 0; k++) {
    const hsize_t offset[3] = {k, 0, 0};
    status = fzgm_chunks_write(&chunks, offset, on_gpu + k * CHUNK);
  }
  if (status != 0) return fprintf(stderr, "%s\n", fz_last_error()), 1;
  fzgm_chunks_close(&chunks);
  hsize_t stored = H5Dget_storage_size(set);
  H5Dclose(set);
  H5Pclose(dcpl);
  H5Sclose(space);
  H5Fclose(file);
  cudaFree(on_gpu);

  file = H5Fopen("field_cuda.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "field", H5P_DEFAULT);
  if (H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0) return 1;
  H5Dclose(set);
  H5Fclose(file);
  float most = 0;
  for (int n = 0; n < LAYERS * CHUNK; n++) most = fmaxf(most, fabsf((&field[0][0][0])[n] - (&restored[0][0][0])[n]));
  printf("field_cuda.h5: %.1f times smaller, largest error %g\n", sizeof field / (double)stored, (double)most);
  return most <= 0.01f ? 0 : 1;
}
