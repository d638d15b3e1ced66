/* A plotfile of an adaptive mesh with three levels, written and read by several ranks through parallel HDF5 with the fzgm filter.
 *
 *   mpicc amr_hdf5.c -I<folder of fzgm_hdf5.h> $(pkg-config --cflags --libs hdf5-openmpi) -lm
 *   HDF5_PLUGIN_PATH=<folder of libh5fzgm.so> mpirun -n 4 amr_hdf5 plot.h5
 *
 * All patches of one level and shape are one dataset with the dimensions patch, z, y, and x. A chunk is a patch. Ranks own patches in
 * turns, and write them in one collective call for each dataset. The dataset `origins` has the first cell of each patch. */
#include <fzgm_hdf5.h>
#include <hdf5.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                                 \
  do {                                                                                                                   \
    if (!(condition)) fprintf(stderr, "line %d: %s failed\n", __LINE__, #condition), MPI_Abort(MPI_COMM_WORLD, 1);      \
  } while (0)

static const double BOUND = 1e-3;

/* A level: `grid`^3 patches of `side`^3 cells around the center of the domain, with cells of size `cell`. */
typedef struct {
  const char *name;
  hsize_t grid, side;
  double cell;
} level;

static const level LEVELS[] = {
    {"level_0", 1, 128, 1.0 / 128}, {"level_1", 2, 64, 1.0 / 256}, {"level_2", 3, 32, 1.0 / 512}, {"level_2_fine_patches", 4, 16, 1.0 / 512}};
enum { COUNT = sizeof LEVELS / sizeof *LEVELS };

static hsize_t patches_of(const level *l) { return l->grid * l->grid * l->grid; }

/* First cell of a patch, as a position in cells of its level. */
static void origin_of(const level *l, hsize_t patch, long long origin[3]) {
  const hsize_t at[3] = {patch / l->grid / l->grid, patch / l->grid % l->grid, patch % l->grid};
  for (int d = 0; d < 3; d++) origin[d] = (long long)(0.5 / l->cell - 0.5 * (double)(l->grid * l->side)) + (long long)(at[d] * l->side);
}

/* A front around the center, and waves. */
static void fill(const level *l, hsize_t patch, float *values) {
  long long origin[3];
  origin_of(l, patch, origin);
  for (hsize_t i = 0; i < l->side * l->side * l->side; i++) {
    const hsize_t at[3] = {i / l->side / l->side, i / l->side % l->side, i % l->side};
    double p[3], r = 0.0;
    for (int d = 0; d < 3; d++) p[d] = ((double)(origin[d] + (long long)at[d]) + 0.5) * l->cell - 0.5, r += p[d] * p[d];
    values[i] = (float)(tanh(60.0 * (0.1 - sqrt(r))) + 0.2 * sin(20.0 * p[0]) * cos(15.0 * p[1] + 10.0 * p[2]));
  }
}

/* Selects every `ranks`-th patch from patch `first` on; returns the number of them. */
static hsize_t select_patches(hid_t space, const level *l, int first, int ranks) {
  const hsize_t own = patches_of(l) > (hsize_t)first ? (patches_of(l) - (hsize_t)first + (hsize_t)ranks - 1) / (hsize_t)ranks : 0;
  const hsize_t start[4] = {(hsize_t)first, 0, 0, 0}, stride[4] = {(hsize_t)ranks, 1, 1, 1}, count[4] = {own, l->side, l->side, l->side};
  CHECK((own ? H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) : H5Sselect_none(space)) >= 0);
  return own;
}

static void write_level(hid_t file, const level *l, int rank, int ranks, hid_t collective) {
  const hsize_t dims[4] = {patches_of(l), l->side, l->side, l->side}, chunk[4] = {1, l->side, l->side, l->side}, cells = l->side * l->side * l->side;
  const hid_t space = H5Screate_simple(4, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(dcpl, 4, chunk) >= 0);
  CHECK(H5Pset_fzgm_preset(dcpl, FZGM_ABS, BOUND, FZGM_PRESET_FAST) >= 0);
  const hid_t group = H5Gcreate2(file, l->name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t set = H5Dcreate2(group, "density", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(group >= 0 && set >= 0);
  const hsize_t own = select_patches(space, l, rank, ranks), length = own * cells;
  const hid_t memory = H5Screate_simple(1, &length, NULL);
  float *values = malloc((size_t)(length + 1) * sizeof *values);
  CHECK(values != NULL);
  for (hsize_t k = 0; k < own; k++) fill(l, (hsize_t)rank + k * (hsize_t)ranks, values + k * cells);
  CHECK(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, collective, values) >= 0);

  const hsize_t table[2] = {patches_of(l), 3};
  long long *origins = malloc((size_t)table[0] * sizeof(long long[3]));
  CHECK(origins != NULL);
  for (hsize_t k = 0; k < table[0]; k++) origin_of(l, k, origins + 3 * k);
  const hid_t rows = H5Screate_simple(2, table, NULL), list = H5Dcreate2(group, "origins", H5T_STD_I64LE, rows, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(list >= 0 && H5Dwrite(list, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, collective, origins) >= 0);
  free(origins), free(values);
  H5Dclose(list), H5Sclose(rows), H5Sclose(memory), H5Dclose(set), H5Gclose(group), H5Pclose(dcpl), H5Sclose(space);
}

/* Each rank reads the patches of the next rank. Returns the largest error. */
static double read_level(hid_t file, const level *l, int rank, int ranks, hid_t collective, double *stored) {
  const int first = (rank + 1) % ranks;
  const hsize_t cells = l->side * l->side * l->side;
  const hid_t group = H5Gopen2(file, l->name, H5P_DEFAULT), set = H5Dopen2(group, "density", H5P_DEFAULT), space = H5Dget_space(set);
  CHECK(group >= 0 && set >= 0);
  const hsize_t own = select_patches(space, l, first, ranks), length = own * cells;
  const hid_t memory = H5Screate_simple(1, &length, NULL);
  float *values = malloc((size_t)(length + 1) * sizeof *values), *want = malloc((size_t)cells * sizeof *want);
  CHECK(values != NULL && want != NULL);
  CHECK(H5Dread(set, H5T_NATIVE_FLOAT, memory, space, collective, values) >= 0);
  double error = 0.0;
  for (hsize_t k = 0; k < own; k++) {
    fill(l, (hsize_t)first + k * (hsize_t)ranks, want);
    for (hsize_t i = 0; i < cells; i++) error = fmax(error, fabs((double)values[k * cells + i] - (double)want[i]));
  }
  *stored = (double)H5Dget_storage_size(set);
  free(want), free(values);
  H5Sclose(memory), H5Sclose(space), H5Dclose(set), H5Gclose(group);
  return error;
}

int main(int argc, char **argv) {
  int rank, ranks, failed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *path = argc > 1 ? argv[1] : "plot.h5";
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), collective = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  CHECK(H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE) >= 0);

  double start = MPI_Wtime();
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  CHECK(file >= 0);
  for (int k = 0; k < COUNT; k++) write_level(file, &LEVELS[k], rank, ranks, collective);
  CHECK(H5Fclose(file) >= 0);
  if (rank == 0) printf("%d ranks: written in %.2f s\n", ranks, MPI_Wtime() - start);

  CHECK((file = H5Fopen(path, H5F_ACC_RDONLY, fapl)) >= 0);
  for (int k = 0; k < COUNT; k++) {
    const level *l = &LEVELS[k];
    double stored = 0.0, worst = 0.0, error = read_level(file, l, rank, ranks, collective, &stored);
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
      printf("%s: %llu patches of %llu^3, ratio %.2f, largest error %.6f\n", l->name, (unsigned long long)patches_of(l), (unsigned long long)l->side,
             (double)(patches_of(l) * l->side * l->side * l->side * sizeof(float)) / stored, worst);
    failed |= worst > BOUND;
  }
  H5Fclose(file), H5Pclose(collective), H5Pclose(fapl);
  MPI_Finalize();
  return failed;
}
