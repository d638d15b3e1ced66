/* Parallel HDF5: all ranks write one dataset through the filter and read it back, each its own part and then the whole.
 *
 *   mpirun -n <ranks> parallel <file>
 *   mpirun -n <ranks> parallel <file> read      what others have written
 */
#include <fzgm_hdf5.h>
#include <mpi.h>

#define STOP() MPI_Abort(MPI_COMM_WORLD, 1)
#include "check.h"

#define ROWS 96
#define COLUMNS 128
/* In place of flags: the file is there. */
#define READ 0xffffu

struct record {
  double re;
  int flag;
};

static double value(hsize_t i, hsize_t j) { return sin((double)i / 9) * cos((double)j / 7); }

/* Rows from and up to which a rank writes; borders lie inside of chunks unless `aligned`. */
static void part(int rank, int ranks, int aligned, hsize_t *from, hsize_t *count) {
  hsize_t rows = ROWS / (hsize_t)ranks / 16 * 16, shift = aligned ? 0 : 5;
  hsize_t end = rank == ranks - 1 ? ROWS : ((hsize_t)rank + 1) * rows + shift;
  *from = rank ? (hsize_t)rank * rows + shift : 0;
  *count = end - *from;
}

static void floats(const char *path, int rank, int ranks, int aligned, unsigned flags) {
  hsize_t dims[2] = {ROWS, COLUMNS}, chunk[2] = {16, 64}, from[2] = {0, 0}, count[2] = {0, COLUMNS}, i, j;
  double *own, *all = malloc(ROWS * COLUMNS * sizeof *all);
  unsigned cd[3] = {FZGM_ABS, 0, 0};
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE), dxpl = H5Pcreate(H5P_DATASET_XFER);
  hid_t file, space, set, memory;
  part(rank, ranks, aligned, &from[0], &count[0]);
  own = malloc(count[0] * COLUMNS * sizeof *own);
  CHECK(own != NULL && all != NULL);
  for (i = 0; i < count[0]; i++)
    for (j = 0; j < COLUMNS; j++) own[i * COLUMNS + j] = value(from[0] + i, j);

  CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE) >= 0);
  space = H5Screate_simple(2, dims, NULL);
  memory = H5Screate_simple(2, count, NULL);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0);
  if (flags != READ) {
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(H5Pset_chunk(dcpl, 2, chunk) >= 0);
    fzgm_double_words(1e-3, cd + 1);
    CHECK(H5Pset_filter(dcpl, H5Z_FILTER_FZGM, flags, 3, cd) >= 0);
    set = H5Dcreate2(file, "d", H5T_IEEE_F64LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, dxpl, own) >= 0);
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  }

  file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
  set = H5Dopen2(file, "d", H5P_DEFAULT);
  CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, dxpl, own) >= 0);
  CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, dxpl, all) >= 0);
  for (i = 0; i < count[0]; i++)
    for (j = 0; j < COLUMNS; j++) CHECK(fabs(own[i * COLUMNS + j] - value(from[0] + i, j)) <= 1e-3);
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < COLUMNS; j++) CHECK(fabs(all[i * COLUMNS + j] - value(i, j)) <= 1e-3);
  CHECK(H5Dget_storage_size(set) < ROWS * COLUMNS * sizeof *all / 2);
  H5Dclose(set), H5Fclose(file), H5Sclose(space), H5Sclose(memory), H5Pclose(fapl), H5Pclose(dcpl), H5Pclose(dxpl);
  free(own), free(all);
}

/* Records under an optional filter: a chunk that it refused could not be read again. */
static void records(const char *path, int rank, int ranks) {
  hsize_t dims[1] = {ROWS}, chunk[1] = {16}, from[1], count[1], i;
  struct record own[ROWS];
  unsigned cd[3] = {FZGM_ABS, 0, 0};
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), dcpl = H5Pcreate(H5P_DATASET_CREATE), dxpl = H5Pcreate(H5P_DATASET_XFER);
  hid_t file, space, set, memory, type = H5Tcreate(H5T_COMPOUND, sizeof(struct record));
  CHECK(H5Tinsert(type, "re", 0, H5T_NATIVE_DOUBLE) >= 0);
  CHECK(H5Tinsert(type, "flag", HOFFSET(struct record, flag), H5T_NATIVE_INT) >= 0);
  part(rank, ranks, 0, from, count);
  memset(own, 0, sizeof own);
  for (i = 0; i < count[0]; i++) own[i].re = (double)(from[0] + i), own[i].flag = rank;
  CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  CHECK(H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE) >= 0);
  CHECK(H5Pset_chunk(dcpl, 1, chunk) >= 0);
  fzgm_double_words(0.5, cd + 1);
  CHECK(H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_OPTIONAL, 3, cd) >= 0);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  space = H5Screate_simple(1, dims, NULL);
  memory = H5Screate_simple(1, count, NULL);
  set = H5Dcreate2(file, "r", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(set >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL) >= 0);
  CHECK(H5Dwrite(set, type, memory, space, dxpl, own) >= 0);
  CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
  set = H5Dopen2(file, "r", H5P_DEFAULT);
  memset(own, 0, sizeof own);
  CHECK(H5Dread(set, type, memory, space, dxpl, own) >= 0);
  for (i = 0; i < count[0]; i++) CHECK(own[i].re == (double)(from[0] + i) && own[i].flag == rank);
  H5Dclose(set), H5Fclose(file), H5Tclose(type), H5Sclose(space), H5Sclose(memory), H5Pclose(fapl), H5Pclose(dcpl), H5Pclose(dxpl);
}

int main(int argc, char **argv) {
  int rank, ranks, aligned;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2 || argc == 3);
  if (argc == 3) floats(argv[1], rank, ranks, 0, READ);
  else records(argv[1], rank, ranks);
  for (aligned = 0; aligned < 2 && argc == 2; aligned++) {
    floats(argv[1], rank, ranks, aligned, H5Z_FLAG_OPTIONAL);
    floats(argv[1], rank, ranks, aligned, H5Z_FLAG_MANDATORY);
  }
  H5close();
  MPI_Finalize();
  return 0;
}
