/* A child of fork() can use the library, also when its parent has used several threads: no lock or pool is left behind. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 300000 };
static float x[N];

int main(void) {
  const uint64_t dims[1] = {N};
  fz_pipeline *pipeline = pfpl_noa(1e-3);
  fz_options options;
  fz_plan *plan;
  fz_workspace *workspace = NULL, *lent = NULL;
  void *memory;
  uint64_t need = 0;
  unsigned char *mine;
  uint64_t bytes = 0;
  pid_t child;
  int status = 0;

  fill(x, N);
  OK(fz_options_init(&options));
  options.threads = 2;
  plan = plan_of(pipeline, dims, 1, &options);
  OK(fz_workspace_new(plan, &workspace));
  OK(fz_workspace_bytes(plan, &need));
  memory = malloc((size_t)need);
  OK(fz_workspace_from_buffer(plan, memory, need, &lent));
  mine = compressed(plan, workspace, x, N, &bytes);

  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    uint64_t again = 0;
    unsigned char *theirs;
    alarm(60); /* a hang is a failure, not a wait */
    theirs = compressed(plan, workspace, x, N, &again); /* made by the parent, with threads that the child has not got */
    CHECK(again == bytes && memcmp(mine, theirs, (size_t)bytes) == 0);
    guarded_free(theirs);
    theirs = compressed(plan, lent, x, N, &again); /* the child's copy of the memory, with threads of its own */
    CHECK(again == bytes && memcmp(mine, theirs, (size_t)bytes) == 0);
    guarded_free(theirs);
    theirs = compressed(plan, NULL, x, N, &again);
    CHECK(again == bytes && memcmp(mine, theirs, (size_t)bytes) == 0);
    guarded_free(theirs);
    fz_workspace_free(workspace);
    fz_workspace_free(lent);
    free(memory);
    fz_plan_free(plan);
    fz_pipeline_free(pipeline);
    _exit(0); /* what the parent's threads held is lost to the child, by the nature of fork(): no leak check here */
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  guarded_free(mine);
  fz_workspace_free(workspace);
  fz_workspace_free(lent);
  free(memory);
  fz_plan_free(plan);
  fz_pipeline_free(pipeline);
  printf("a forked child compresses the same bytes\n");
  return 0;
}
