/* The filter in every floating-point environment of its caller: the chunks of the default one, and the environment as it was.
 *
 *   environment <folder for files>
 */
#include <fzgm_hdf5.h>
#include <math.h>
#include <string.h>

#include "../c/environments.h"
#include "check.h"

enum { ROWS = 60, COLUMNS = 50, CHUNK = 20 };

static float values[ROWS][COLUMNS];

/* HDF5 computes with floats too and raises flags. */
static int same(uint64_t left, uint64_t found) {
  return ((left ^ found) & ~(uint64_t)ENVIRONMENT_FLAGS) == 0;
}

typedef struct {
  unsigned char chunks[1 << 16];
  size_t bytes;
  float values[ROWS][COLUMNS];
} dataset;

/* Writes the values in one environment and reads them in another one. */
static void through(const char *path, uint64_t writing, uint64_t reading, dataset *d) {
  const hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {CHUNK, COLUMNS};
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), file, space, set;
  uint64_t left;
  hsize_t row;
  herr_t done;
  H5Pset_chunk(dcpl, 2, chunk);
  environment_set(writing);
  done = H5Pset_fzgm(dcpl, FZGM_REL, 1e-3);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  space = H5Screate_simple(2, dims, NULL);
  set = H5Dcreate2(file, "d", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  if (done >= 0) done = H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Fclose(file);
  left = environment_now();
  environment_set(DEFAULT_ENVIRONMENT);
  CHECK(done >= 0 && same(left, writing));
  file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "d", H5P_DEFAULT);
  d->bytes = 0;
  for (row = 0; row < ROWS; row += CHUNK) {
    const hsize_t offset[2] = {row, 0};
    uint32_t mask = 0;
    hsize_t stored = 0;
    CHECK(H5Dget_chunk_storage_size(set, offset, &stored) >= 0 && d->bytes + stored <= sizeof d->chunks);
    CHECK(H5Dread_chunk(set, H5P_DEFAULT, offset, &mask, d->chunks + d->bytes) >= 0 && mask == 0);
    d->bytes += stored;
  }
  environment_set(reading);
  done = H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, d->values);
  left = environment_now();
  environment_set(DEFAULT_ENVIRONMENT);
  CHECK(done >= 0 && same(left, reading));
  CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0 && H5Pclose(dcpl) >= 0);
}

int main(int count, char **arguments) {
  static dataset want, got;
  char path[1000];
  int i, e;
  CHECK(count == 2);
  snprintf(path, sizeof path, "%s/environment.h5", arguments[1]);
  for (i = 0; i < ROWS * COLUMNS; i++) {
    /* Every third value is a subnormal number, which mode rel keeps exactly. */
    const uint32_t tiny = (uint32_t)i * 37 + 1;
    float v = sinf((float)i * 0.01f);
    if (i % 3 == 0) memcpy(&v, &tiny, sizeof v);
    if (i % 500 == 7) v = NAN;
    values[i / COLUMNS][i % COLUMNS] = v;
  }
  through(path, DEFAULT_ENVIRONMENT, DEFAULT_ENVIRONMENT, &want);
  CHECK(memcmp(&want.values[0][0], &values[0][0], sizeof values[0][0]) == 0);
  for (e = 0; e < (int)ENVIRONMENTS; e++) {
    const uint64_t other = environments[(e + 3) % (int)ENVIRONMENTS].bits;
    through(path, environments[e].bits | ENVIRONMENT_USUAL, other | ENVIRONMENT_USUAL, &got);
    if (want.bytes == got.bytes && memcmp(want.chunks, got.chunks, want.bytes) == 0 && memcmp(want.values, got.values, sizeof want.values) == 0) continue;
    fprintf(stderr, "other chunks or values in the environment \"%s\"\n", environments[e].name);
    return 1;
  }
  return 0;
}
