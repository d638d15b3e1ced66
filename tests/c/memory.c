/* Each allocation of each call fails in turn, and then all from that one on: the call succeeds or gives FZ_OUT_OF_MEMORY (FZ_NO_THREADS
 * where a thread cannot be started), and no handle is made or changed by a call that fails. A process ends only where docs/errors.md
 * prints it: while a thread of a workspace is started.
 *
 *   memory [<every>]      every so-many-th allocation fails; 1 is all of them
 */
#define _GNU_SOURCE
#include "check.h"

#ifndef __GLIBC__
int main(void) {
  puts("SKIPPED: allocations are counted in the C library of GNU");
  return 0;
}
#else
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static volatile int armed, all_after;
static volatile long made, failing;

static int fails(void) {
  long number;
  if (!armed) return 0;
  number = __sync_fetch_and_add(&made, 1);
  if (number < failing || (number > failing && !all_after)) return 0;
  errno = ENOMEM;
  return 1;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t a, size_t b) { return fails() ? NULL : __libc_calloc(a, b); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
  if (fails()) return ENOMEM;
  *p = __libc_memalign(a, n);
  return 0;
}

static const char *const presets[] = {"pfpl", "fz", "cusz", "cusz_ans", "bits", "lc_speed", "lc_ratio", "lc_tp", "lc_cr", "fast"};
static const char *const calls[] = {"preset", "pipeline by stages", "finalize", "plan_decoder", "workspaces", "compress", "decompress", "compact frames",
                                    "decompress without a plan", "describe", "files", "long lists", "threads"};
enum { N = 100 * 70 * 10, TEXT = 1 << 16, CALLS = sizeof calls / sizeof calls[0], THREADS = CALLS - 1, ROOM = 1 << 20 };
static float x[N], y[N];
static unsigned char container[ROOM], other[ROOM];
static char path[64];
/* Enough exact values that their list is larger than the largest request that the reserve grants. */
enum { LONG = 3 << 20, LISTS = CALLS - 2 };
static float long_array[LONG];

/* Runs every kind of call; allocations fail in the kind that is asked for. Returns the first status that is not FZ_OK. */
static int32_t run(const char *preset, int kind) {
  const uint64_t dims[3] = {100, 70, 10};
  uint64_t bytes = 0, restored = 0, capacity = 0, length = 0;
  static char text[TEXT], again_text[TEXT];
  fz_pipeline *pipeline = NULL, *again = NULL;
  fz_plan *plan = NULL, *decoder = NULL, *made_plan = NULL;
  fz_workspace *encoding = NULL, *decoding = NULL, *threaded = NULL;
  fz_options options;
  int32_t s;
#define DO(call)                                                                                       \
  if ((s = (call)) != FZ_OK) goto out
  OK(fz_options_init(&options));
  armed = kind == 0;
  DO(fz_pipeline_from_preset(preset, FZ_F32, &pipeline));
  armed = 0;
  if (kind == 1) {
    uint32_t stage = 77;
    OK(fz_pipeline_new(&again));
    OK(fz_pipeline_add_stage(again, "lorenzo_quant", NULL));
    OK(fz_pipeline_to_text(again, text, TEXT, &length));
    armed = 1;
    s = fz_pipeline_add_stage(again, "bitshuffle", &stage);
    armed = 0;
    if (s != FZ_OK) { /* the pipeline is what it was */
      CHECK(stage == 77);
      OK(fz_pipeline_to_text(again, again_text, TEXT, &length));
      CHECK(strcmp(text, again_text) == 0);
      goto out;
    }
    OK(fz_pipeline_connect(again, 0, "codes", 1));
    OK(fz_pipeline_to_text(again, text, TEXT, &length));
    armed = 1;
    s = fz_pipeline_set_string(again, FZ_EVERY_STAGE, "mode", "noa");
    armed = 0;
    OK(fz_pipeline_to_text(again, again_text, TEXT, &length));
    CHECK(s == FZ_OK ? strstr(again_text, "mode=noa") != NULL : strcmp(text, again_text) == 0);
    goto out;
  }
  armed = kind == 2;
  DO(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, NULL, &plan));
  armed = 0;
  OK(fz_max_compressed_bytes(plan, &capacity));
  CHECK(capacity <= ROOM);
  armed = kind == 3;
  DO(fz_plan_decoder(plan, &decoder));
  armed = kind == 4;
  DO(fz_workspace_new(plan, &encoding));
  DO(fz_workspace_new(decoder, &decoding));
  armed = kind == 5;
  DO(fz_compress(plan, encoding, x, sizeof x, container, capacity, &bytes));
  armed = kind == 6;
  DO(fz_decompress(decoder, decoding, container, bytes, y, sizeof y, &restored));
  armed = kind == 7;
  if (kind == 7) {
    options.container = FZ_CONTAINER_COMPACT;
    DO(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, &options, &made_plan));
    DO(fz_compress(made_plan, NULL, x, sizeof x, other, capacity, &length));
    DO(fz_decompress(NULL, NULL, other, length, y, sizeof y, &restored));
  }
  armed = kind == 8;
  if (kind == 8) DO(fz_decompress(NULL, NULL, container, bytes, y, sizeof y, &restored));
  armed = kind == 9;
  if (kind == 9) {
    fz_info info;
    info.struct_bytes = sizeof info;
    DO(fz_container_info(container, bytes, &info));
    DO(fz_pipeline_from_container(container, bytes, &again));
    DO(fz_pipeline_to_toml(again, text, TEXT, &length));
    fz_pipeline_free(again);
    again = NULL;
    DO(fz_pipeline_from_toml(text, &again));
    /* Pipelines that are no chain have no text. */
    s = fz_pipeline_to_text(again, text, TEXT, &length);
    if (s == FZ_OK) {
      fz_pipeline_free(again);
      again = NULL;
      DO(fz_pipeline_from_text(text, &again));
    } else if (s == FZ_UNSUPPORTED || s == FZ_INVALID_PIPELINE) {
      s = FZ_OK;
    }
  }
  armed = kind == 10;
  if (kind == 10) {
    DO(fz_compress_file(plan, encoding, x, sizeof x, path, &length));
    DO(fz_decompress_file(NULL, NULL, path, y, sizeof y, &restored));
  }
  armed = 0;
  if (kind == LISTS && strcmp(preset, "fz") == 0) {
    const uint64_t count[1] = {LONG};
    void *room;
    OK(fz_pipeline_finalize(pipeline, FZ_F32, count, 1, NULL, &made_plan));
    OK(fz_workspace_new(made_plan, &threaded));
    OK(fz_max_compressed_bytes(made_plan, &capacity));
    CHECK((room = malloc((size_t)capacity)) != NULL);
    armed = 1;
    s = fz_compress(made_plan, threaded, long_array, sizeof long_array, room, capacity, &length);
    armed = 0;
    free(room);
    if (s != FZ_OK) goto out;
  }
  if (kind == THREADS) {
    options.threads = 3;
    OK(fz_pipeline_finalize(pipeline, FZ_F32, dims, 3, &options, &made_plan));
    armed = 1;
    DO(fz_workspace_new(made_plan, &threaded));
    DO(fz_compress(made_plan, threaded, x, sizeof x, other, capacity, &length));
  }
  s = FZ_OK;
out:
  armed = 0;
  CHECK(s == FZ_OK || fz_last_error()[0] != '\0');
  /* After any failure, the handles are valid, and the library works. */
  fz_workspace_free(threaded);
  fz_workspace_free(decoding);
  fz_workspace_free(encoding);
  fz_plan_free(made_plan);
  fz_plan_free(decoder);
  fz_plan_free(plan);
  fz_pipeline_free(again);
  fz_pipeline_free(pipeline);
  return s;
}

/* A child with one failure: 0 success, 1 FZ_OUT_OF_MEMORY, 2 it was aborted, 3 there are fewer allocations than that. */
static int child(const char *preset, int kind, long number) {
  int ends[2], state = 0, outcome = 3;
  pid_t id;
  CHECK(pipe(ends) == 0);
  fflush(stdout);
  id = fork();
  CHECK(id >= 0);
  if (id == 0) {
    int32_t said[2];
    const int nowhere = open("/dev/null", O_WRONLY);
    const int here = dup(2);
    if (kind == THREADS) dup2(nowhere, 2); /* what an abort prints */
    alarm(60);
    failing = number;
    said[0] = run(preset, kind);
    said[1] = made > number;
    dup2(here, 2);
    if (write(ends[1], said, sizeof said) != (ssize_t)sizeof said) _exit(9);
    _exit(0);
  }
  close(ends[1]);
  {
    int32_t said[2] = {0, 0};
    const ssize_t got = read(ends[0], said, sizeof said);
    close(ends[0]);
    CHECK(waitpid(id, &state, 0) == id);
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT && kind == THREADS) return 2;
    if (got != (ssize_t)sizeof said || !WIFEXITED(state) || WEXITSTATUS(state) != 0) {
      fprintf(stderr, "preset %s, %s, allocation %ld%s: the process ended with %#x\n", preset, calls[kind], number, all_after ? " and all later ones" : "", (unsigned)state);
      exit(1);
    }
    if (!said[1]) return 3;
    switch (said[0]) {
      case FZ_OK: outcome = 0; break;
      case FZ_OUT_OF_MEMORY: outcome = 1; break;
      case FZ_NO_THREADS: outcome = 1; break;
      default:
        fprintf(stderr, "preset %s, %s, allocation %ld%s: status %d\n", preset, calls[kind], number, all_after ? " and all later ones" : "", (int)said[0]);
        exit(1);
    }
  }
  return outcome;
}

int main(int count, char **arguments) {
  const long every = count > 1 ? atol(arguments[1]) : 41;
  long total[3] = {0, 0, 0};
  size_t preset;
  int kind;
  CHECK(every > 0);
  fill(x, N);
  for (kind = 0; kind < N; kind += 97) x[kind] = 1e20f;
  for (kind = 0; kind < LONG; kind++) long_array[kind] = kind % 7 ? (float)(kind % 1000) : 1e20f;
  sprintf(path, "memory-%ld.fzm", (long)getpid());
  for (all_after = 0; all_after <= 1; all_after++) {
    for (preset = 0; preset < sizeof presets / sizeof presets[0]; preset++) {
      for (kind = 0; kind < CALLS; kind++) {
        /* Presets begin at different ones, so that few gaps remain over all of them. */
        const long step = kind == LISTS && every > 5 ? 5 : every; /* it has few */
        long number = (long)preset * 7 % step;
        for (;; number += step) {
          const int outcome = child(presets[preset], kind, number);
          if (outcome == 3) break;
          total[outcome]++;
        }
      }
    }
  }
  remove(path);
  printf("%ld failed allocations: %ld calls succeed, %ld give a status of room, %ld end the process while a thread starts\n",
         total[0] + total[1] + total[2], total[0], total[1], total[2]);
  CHECK(total[0] + total[1] > 100);
  return 0;
}
#endif
