/* Writes a variable to a netCDF file with an error of at most 0.01 and reads it back. HDF5_PLUGIN_PATH names the folder of libh5fzgm.so.
 *
 *   cc hdf5_netcdf.c $(nc-config --cflags --libs) -lm -o hdf5_netcdf
 *   HDF5_PLUGIN_PATH=<prefix>/lib/fzgm/hdf5 ./hdf5_netcdf
 */
#include <math.h>
#include <netcdf.h>
#include <netcdf_filter.h>
#include <stdio.h>
#include <string.h>

#define FZGM 32770
#define ROWS 300
#define COLUMNS 400

#define TRY(call)                                                                                \
  do {                                                                                           \
    const int status_ = (call);                                                                  \
    if (status_ != NC_NOERR) return fprintf(stderr, "%s: %s\n", #call, nc_strerror(status_)), 1; \
  } while (0)

static float field[ROWS][COLUMNS], restored[ROWS][COLUMNS];

int main(void) {
  const double bound = 0.01;
  const size_t chunk[2] = {100, 200};
  unsigned words[4] = {1, 0, 0, 3}; /* mode abs, the two words of the bound, which lie in memory in this order, preset fast */
  int file, dims[2], variable;
  memcpy(words + 1, &bound, sizeof bound);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) field[i][j] = (float)(280 + 10 * sin(i / 30.0) * cos(j / 50.0));

  TRY(nc_create("field.nc", NC_NETCDF4 | NC_CLOBBER, &file));
  TRY(nc_def_dim(file, "y", ROWS, &dims[0]));
  TRY(nc_def_dim(file, "x", COLUMNS, &dims[1]));
  TRY(nc_def_var(file, "field", NC_FLOAT, 2, dims, &variable));
  TRY(nc_def_var_chunking(file, variable, NC_CHUNKED, chunk));
  TRY(nc_def_var_filter(file, variable, FZGM, 4, words));
  TRY(nc_put_var_float(file, variable, &field[0][0]));
  TRY(nc_close(file));

  TRY(nc_open("field.nc", NC_NOWRITE, &file));
  TRY(nc_inq_varid(file, "field", &variable));
  TRY(nc_get_var_float(file, variable, &restored[0][0]));
  TRY(nc_close(file));
  float most = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) most = fmaxf(most, fabsf(field[i][j] - restored[i][j]));
  printf("field.nc: largest error %g\n", (double)most);
  return most <= 0.01f ? 0 : 1;
}
