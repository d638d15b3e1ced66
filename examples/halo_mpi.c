/* Heat conduction on several ranks that exchange compressed halos, and an account of the error.
 *
 *   mpicc halo_mpi.c -lfzgm -lm
 *   mpirun -n 4 halo_mpi [<side> [<steps> [<error bound>]]]          128, 100, and 1e-4 unless given
 *
 * Ranks share a cube along z. A rank sends its first and its last layer in each step. Each message has a fixed slot of the longest possible
 * container, and MPI reports the length of a received message, so ranks never exchange sizes.
 *
 * The account: a received value differs from the sent value by at most the error bound. A step multiplies it by LAMBDA, and replaces other
 * errors by weighted means, which do not exceed the largest of them. After n steps, a value differs from an uncompressed run by at most
 * n * LAMBDA * bound, plus rounding. The program runs both and compares. */
#include <fzgm.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                            \
  do {                                                                                                       \
    if ((call) != FZ_OK) fprintf(stderr, "%s: %s\n", #call, fz_last_error()), MPI_Abort(MPI_COMM_WORLD, 1); \
  } while (0)

static const float LAMBDA = 0.125f;

/* A pipeline of one layer, with plans and workspaces for both directions. Nothing is allocated later. */
typedef struct {
  fz_plan *encoder, *decoder;
  fz_workspace *encoding, *decoding;
  uint64_t slot_bytes;
  char *slots[4]; /* sent down, sent up, received from below, received from above */
} halo;

static halo new_halo(uint64_t side, double bound) {
  const uint64_t dims[2] = {side, side};
  halo h;
  fz_pipeline *pipeline;
  fz_options options;
  TRY(fz_options_init(&options));
  options.container = FZ_CONTAINER_COMPACT;
  TRY(fz_pipeline_from_preset("fast", FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "abs"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", bound));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, 2, &options, &h.encoder));
  TRY(fz_plan_decoder(h.encoder, &h.decoder));
  TRY(fz_workspace_new(h.encoder, &h.encoding));
  TRY(fz_workspace_new(h.decoder, &h.decoding));
  TRY(fz_max_compressed_bytes(h.encoder, &h.slot_bytes));
  for (int i = 0; i < 4; i++)
    if (!(h.slots[i] = malloc(h.slot_bytes))) MPI_Abort(MPI_COMM_WORLD, 1);
  fz_pipeline_free(pipeline);
  return h;
}

static void free_halo(halo *h) {
  for (int i = 0; i < 4; i++) free(h->slots[i]);
  fz_workspace_free(h->decoding);
  fz_workspace_free(h->encoding);
  fz_plan_free(h->decoder);
  fz_plan_free(h->encoder);
}

/* Layers 1 to `layers` belong to the rank; layers 0 and `layers` + 1 are halos. Returns the number of bytes sent. */
static uint64_t exchange_compressed(halo *h, float *field, size_t layer, size_t layers, int below, int above) {
  const int neighbor[2] = {below, above};
  const size_t sent[2] = {1, layers}, received[2] = {0, layers + 1};
  MPI_Request requests[4];
  uint64_t total = 0;
  for (int k = 0; k < 2; k++) {
    MPI_Irecv(h->slots[2 + k], (int)h->slot_bytes, MPI_BYTE, neighbor[k], 1 - k, MPI_COMM_WORLD, &requests[k]);
  }
  for (int k = 0; k < 2; k++) {
    uint64_t bytes = 0;
    if (neighbor[k] != MPI_PROC_NULL)
      TRY(fz_compress(h->encoder, h->encoding, field + sent[k] * layer, layer * sizeof(float), h->slots[k], h->slot_bytes, &bytes));
    MPI_Isend(h->slots[k], (int)bytes, MPI_BYTE, neighbor[k], k, MPI_COMM_WORLD, &requests[2 + k]);
    total += bytes;
  }
  for (int k = 0; k < 2; k++) {
    MPI_Status status;
    int bytes;
    uint64_t restored;
    MPI_Wait(&requests[k], &status);
    if (neighbor[k] == MPI_PROC_NULL) continue;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    TRY(fz_decompress(h->decoder, h->decoding, h->slots[2 + k], (uint64_t)bytes, field + received[k] * layer, layer * sizeof(float), &restored));
  }
  MPI_Waitall(2, requests + 2, MPI_STATUSES_IGNORE);
  return total;
}

static void exchange(float *field, size_t layer, size_t layers, int below, int above) {
  MPI_Sendrecv(field + layer, (int)layer, MPI_FLOAT, below, 0, field + (layers + 1) * layer, (int)layer, MPI_FLOAT, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(field + layers * layer, (int)layer, MPI_FLOAT, above, 1, field, (int)layer, MPI_FLOAT, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One explicit step; values at the faces of the cube are fixed. */
static void step(const float *from, float *to, size_t side, size_t layers, size_t first) {
  const size_t layer = side * side;
  for (size_t z = 1; z <= layers; z++)
    for (size_t y = 0; y < side; y++)
      for (size_t x = 0; x < side; x++) {
        const size_t i = z * layer + y * side + x, depth = first + z - 1;
        const int inside = x > 0 && x + 1 < side && y > 0 && y + 1 < side && depth > 0 && depth + 1 < side;
        const float near = from[i - 1] + from[i + 1] + from[i - side] + from[i + side] + from[i - layer] + from[i + layer];
        to[i] = inside ? (1.0f - 6.0f * LAMBDA) * from[i] + LAMBDA * near : from[i];
      }
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const size_t side = argc > 1 ? strtoull(argv[1], NULL, 10) : 128;
  const int steps = argc > 2 ? atoi(argv[2]) : 100;
  const double bound = argc > 3 ? atof(argv[3]) : 1e-4;
  const size_t first = side * (size_t)rank / (size_t)ranks, layers = side * ((size_t)rank + 1) / (size_t)ranks - first;
  const size_t layer = side * side, elements = (layers + 2) * layer;
  if (side < 3 || layers < 1 || layer > 1u << 28) MPI_Abort(MPI_COMM_WORLD, 1);
  const int below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;

  /* A margin of one element on each side: `step` reads neighbors of values that it does not change. */
  float *fields[4];
  for (int i = 0; i < 4; i++) {
    if (!(fields[i] = calloc(elements + 2 * layer, sizeof(float)))) MPI_Abort(MPI_COMM_WORLD, 1);
    fields[i] += layer;
  }
  for (size_t i = 0; i < layers * layer; i++) {
    const double x = (double)(i % side) / (double)side, y = (double)(i / side % side) / (double)side, z = (double)(first + i / layer) / (double)side;
    fields[0][layer + i] = (float)(sin(9.0 * x) * cos(7.0 * y) + exp(-40.0 * (z - 0.5) * (z - 0.5)));
  }
  memcpy(fields[2], fields[0], elements * sizeof(float));
  halo h = new_halo(side, bound);
  double bytes[2] = {0.0, 0.0}, seconds[2] = {0.0, 0.0};
  for (int n = 0; n < steps; n++) {
    double start = MPI_Wtime();
    bytes[0] += (double)exchange_compressed(&h, fields[n % 2], layer, layers, below, above);
    seconds[0] += MPI_Wtime() - start;
    start = MPI_Wtime();
    exchange(fields[2 + n % 2], layer, layers, below, above);
    seconds[1] += MPI_Wtime() - start;
    bytes[1] += (double)((below != MPI_PROC_NULL) + (above != MPI_PROC_NULL)) * (double)layer * sizeof(float);
    step(fields[n % 2], fields[1 - n % 2], side, layers, first);
    step(fields[2 + n % 2], fields[3 - n % 2], side, layers, first);
  }
  double error = 0.0, worst, sum[2], slowest[2];
  for (size_t i = layer; i < (layers + 1) * layer; i++) error = fmax(error, fabs((double)fields[steps % 2][i] - (double)fields[2 + steps % 2][i]));
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Reduce(bytes, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(seconds, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  /* Values are below 2, and two steps of 8 operations round at most so much differently. */
  const double account = steps * ((double)LAMBDA * bound + 16.0 * 1.2e-7);
  if (rank == 0)
    printf("%d ranks, %d steps: %.0f of %.0f bytes sent, ratio %.2f; exchange %.3f s, uncompressed %.3f s; error %.3g, account %.3g\n", ranks, steps, sum[0], sum[1],
           sum[0] > 0.0 ? sum[1] / sum[0] : 1.0, slowest[0], slowest[1], worst, account);
  free_halo(&h);
  for (int i = 0; i < 4; i++) free(fields[i] - layer);
  MPI_Finalize();
  return worst <= account ? 0 : 1;
}
