/* The filter through the C interface of netCDF: netcdf <file> writes variables with it and reads them back. */
#include <math.h>
#include <netcdf.h>
#include <netcdf_filter.h>
#include <string.h>

#include "check.h"

#define ID 32770
#define ROWS 40
#define COLUMNS 64

#define OK(call) check((call) == NC_NOERR, #call, __FILE__, __LINE__)

static double values[ROWS * COLUMNS], restored[ROWS * COLUMNS];
static int counts[ROWS * COLUMNS], counted[ROWS * COLUMNS];

int main(int argc, char **argv) {
  size_t chunks[2] = {16, COLUMNS}, i, n;
  unsigned words[3] = {1, 3539053052u, 1062232653u}, seen[80], id;
  int file, dims[2], variable, count;
  double fill = -999;
  CHECK(argc == 2);
  for (i = 0; i < ROWS * COLUMNS; i++) values[i] = i % 50 ? sin((double)i / 9) : fill, counts[i] = (int)i;

  OK(nc_create(argv[1], NC_NETCDF4 | NC_CLOBBER, &file));
  OK(nc_def_dim(file, "y", ROWS, dims));
  OK(nc_def_dim(file, "x", COLUMNS, dims + 1));
  OK(nc_def_var(file, "v", NC_DOUBLE, 2, dims, &variable));
  OK(nc_def_var_chunking(file, variable, NC_CHUNKED, chunks));
  OK(nc_def_var_fill(file, variable, NC_FILL, &fill));
  OK(nc_def_var_filter(file, variable, ID, 3, words));
  OK(nc_put_var_double(file, variable, values));
  OK(nc_def_var(file, "n", NC_INT, 2, dims, &variable));
  OK(nc_def_var_chunking(file, variable, NC_CHUNKED, chunks));
  OK(nc_def_var_filter(file, variable, ID, 3, words));
  OK(nc_put_var_int(file, variable, counts));
  OK(nc_close(file));

  OK(nc_open(argv[1], NC_NOWRITE, &file));
  OK(nc_inq_varid(file, "v", &variable));
  OK(nc_inq_var_filter(file, variable, &id, &n, NULL));
  CHECK(id == ID && n <= 80);
  OK(nc_inq_var_filter(file, variable, &id, &n, seen));
  CHECK(memcmp(seen, words, sizeof words) == 0);
  OK(nc_get_var_double(file, variable, restored));
  for (i = count = 0; i < ROWS * COLUMNS; i++) {
    CHECK(fabs(values[i] - restored[i]) <= 1e-3);
    CHECK(values[i] != fill || restored[i] == fill);
    count += values[i] != restored[i];
  }
  CHECK(count > 0);
  OK(nc_inq_varid(file, "n", &variable));
  OK(nc_get_var_int(file, variable, counted));
  CHECK(memcmp(counts, counted, sizeof counts) == 0);
  OK(nc_close(file));
  return 0;
}
