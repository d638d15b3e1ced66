/* A check that prints the place of a failure. STOP, if defined before, ends the program instead of exit(1). */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#ifndef STOP
#define STOP() exit(1)
#endif

static void check(int fine, const char *what, const char *file, int line) {
  if (fine) return;
  fprintf(stderr, "%s:%d: %s\n", file, line, what);
  STOP();
}
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)

#endif
