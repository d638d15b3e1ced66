/* Drives every GPU of a host from one process or from one process for each GPU: compresses and restores fields in pinned host memory, and
 * prints speeds beside those of plain copies.
 *
 *   cc gpus_cuda.c -lfzgm -lcudart -lpthread -lm          with the CUDA toolkit in the paths of compiler and linker
 *   gpus_cuda [threads|processes [<workers for each GPU> [<megabytes>]]]          threads, 2, and 512 unless given
 *
 * A worker is a thread, or a process, with its own plans, workspaces, and memory. Workers share nothing, so no call waits for another
 * worker, and with 2 workers for each GPU the copies of one overlap with the kernels of the other. */
#define _GNU_SOURCE
#include <cuda_runtime.h>
#include <fzgm.h>

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRY(call)                                                                              \
  do {                                                                                         \
    if ((call) != FZ_OK) return fprintf(stderr, "%s: %s\n", #call, fz_last_error()), 1;        \
  } while (0)
#define CUDA(call)                                                                             \
  do {                                                                                         \
    const cudaError_t e = (call);                                                              \
    if (e != cudaSuccess) return fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)), 1; \
  } while (0)

enum { ROUNDS = 8, COPY_IN, COMPRESS, COPY_OUT, DECOMPRESS, STEPS };
static const double BOUND = 1e-3;

typedef struct {
  int device, failed;
  size_t megabytes, compressed;
  pthread_barrier_t *together;
  double seconds[STEPS];
} worker;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Plans for GPU `device`. Their blocking calls run there, whatever the memory of their arguments. */
static int make_plans(int device, const uint64_t dims[3], fz_plan **encoder, fz_plan **decoder) {
  fz_pipeline *pipeline;
  fz_options options;
  TRY(fz_options_init(&options));
  options.device = device;
  TRY(fz_pipeline_from_preset("fast", FZ_F32, &pipeline));
  TRY(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, "mode", "abs"));
  TRY(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, "error_bound", BOUND));
  TRY(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, &options, encoder));
  TRY(fz_plan_decoder(*encoder, decoder));
  fz_pipeline_free(pipeline);
  return 0;
}

static int work(worker *w) {
  const uint64_t dims[3] = {512, 512, w->megabytes};
  const size_t elements = (size_t)(dims[0] * dims[1] * dims[2]), bytes = elements * sizeof(float);
  fz_plan *encoder, *decoder;
  fz_workspace *encoding, *decoding;
  uint64_t capacity, written = 0, restored = 0;
  CUDA(cudaSetDevice(w->device));
  if (make_plans(w->device, dims, &encoder, &decoder)) return 1;
  TRY(fz_workspace_new(encoder, &encoding));
  TRY(fz_workspace_new(decoder, &decoding));
  TRY(fz_max_compressed_bytes(encoder, &capacity));

  float *x, *y;
  char *container, *scratch;
  cudaStream_t stream;
  CUDA(cudaMallocHost((void **)&x, bytes));
  CUDA(cudaMallocHost((void **)&y, bytes));
  CUDA(cudaMallocHost((void **)&container, capacity));
  CUDA(cudaMalloc((void **)&scratch, bytes));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (size_t i = 0; i < elements; i++) {
    const float a = (float)(i % 512) / 512.0f, b = (float)(i / 512 % 512) / 512.0f, c = (float)(i / 512 / 512) / 512.0f;
    x[i] = sinf(30.0f * a + (float)w->device) * cosf(20.0f * b) + c * c + 1e-3f * (float)((i * 2654435761u >> 7) % 16);
  }

  for (int step = COPY_IN; step < STEPS; step++) {
    double start = 0.0;
    for (int round = -1; round < ROUNDS; round++) {
      if (round == 0) {
        pthread_barrier_wait(w->together);
        start = now();
      }
      switch (step) {
        case COPY_IN: CUDA(cudaMemcpyAsync(scratch, x, bytes, cudaMemcpyHostToDevice, stream)); break;
        case COPY_OUT: CUDA(cudaMemcpyAsync(y, scratch, bytes, cudaMemcpyDeviceToHost, stream)); break;
        case COMPRESS: TRY(fz_compress(encoder, encoding, x, bytes, container, capacity, &written)); break;
        default: TRY(fz_decompress(decoder, decoding, container, written, y, bytes, &restored)); break;
      }
      CUDA(cudaStreamSynchronize(stream));
    }
    w->seconds[step] = (now() - start) / ROUNDS;
    pthread_barrier_wait(w->together);
  }
  w->compressed = (size_t)written;
  for (size_t i = 0; i < elements; i++)
    if (fabs((double)x[i] - (double)y[i]) > BOUND) return fprintf(stderr, "GPU %d: the error of value %zu exceeds the bound\n", w->device, i), 1;

  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(scratch));
  CUDA(cudaFreeHost(container));
  CUDA(cudaFreeHost(y));
  CUDA(cudaFreeHost(x));
  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(decoder);
  fz_plan_free(encoder);
  return 0;
}

/* A worker that fails ends the program: the others would wait for it at the barrier. */
static void *thread(void *w) {
  if (work(w)) exit(1);
  return NULL;
}

/* The number of GPUs, as a child process reports it: CUDA does not work in processes forked after its first call. */
static int count_gpus(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    int n;
    _exit(cudaGetDeviceCount(&n) == cudaSuccess ? n : 0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv) {
  const int processes = argc > 1 && strcmp(argv[1], "processes") == 0, each = argc > 2 ? atoi(argv[2]) : 2, gpus = count_gpus();
  const size_t megabytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 512;
  if (gpus < 1 || each < 1 || each > 16) return fprintf(stderr, "there are %d GPUs and %d workers for each of them\n", gpus, each), 1;
  const int count = gpus * each;
  /* Memory that the processes share. */
  worker *workers = mmap(NULL, (size_t)count * sizeof *workers + sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (workers == MAP_FAILED) return perror("mmap"), 1;
  pthread_barrier_t *together = (pthread_barrier_t *)(workers + count);
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(together, &shared, (unsigned)count);

  pthread_t *threads = calloc((size_t)count, sizeof *threads);
  pid_t *children = calloc((size_t)count, sizeof *children);
  if (!threads || !children) return fprintf(stderr, "out of memory\n"), 1;
  for (int i = 0; i < count; i++) {
    workers[i] = (worker){.device = i % gpus, .megabytes = megabytes, .together = together};
    if (!processes && pthread_create(&threads[i], NULL, thread, &workers[i])) return fprintf(stderr, "no thread can be created\n"), 1;
    if (processes && (children[i] = fork()) == 0) _exit(work(&workers[i]));
  }
  for (int i = 0; i < count; i++) {
    int status = 0;
    if (!processes) pthread_join(threads[i], NULL);
    if (processes && (waitpid(-1, &status, 0) < 0 || status != 0)) {
      for (int k = 0; k < count; k++) kill(children[k], SIGTERM);
      return 1;
    }
  }

  double slowest[STEPS] = {0};
  const double gigabytes = (double)megabytes * 1048576.0 / 1e9;
  for (int i = 0; i < count; i++) {
    const worker *w = &workers[i];
    printf("GPU %d: copy in %5.1f, compress %5.1f, copy out %5.1f, decompress %5.1f GB/s, ratio %.2f\n", w->device, gigabytes / w->seconds[COPY_IN],
           gigabytes / w->seconds[COMPRESS], gigabytes / w->seconds[COPY_OUT], gigabytes / w->seconds[DECOMPRESS], gigabytes * 1e9 / (double)w->compressed);
    for (int step = COPY_IN; step < STEPS; step++) slowest[step] = fmax(slowest[step], w->seconds[step]);
  }
  printf("%d GPUs, %d %s: copy in %5.1f, compress %5.1f, copy out %5.1f, decompress %5.1f GB/s in all\n", gpus, count, processes ? "processes" : "threads",
         count * gigabytes / slowest[COPY_IN], count * gigabytes / slowest[COMPRESS], count * gigabytes / slowest[COPY_OUT],
         count * gigabytes / slowest[DECOMPRESS]);
  return 0;
}
