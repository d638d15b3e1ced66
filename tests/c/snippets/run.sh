#!/usr/bin/env bash
# Compiles every block of C, C++ and Fortran in README.md and docs/, and runs those that are programs.
#
#   tests/c/snippets/run.sh <prefix>
#
# A block with a main program is linked and run; one that begins with #include or a subroutine is a file; anything else are
# statements, for which around.h declares what they take for given.
set -euo pipefail
cd "$(dirname "$0")/../../.."
prefix=$(realpath "$1")
lib=$(dirname "$(find "$prefix" -name libfzgm.so)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -Itests/c/snippets)
link=(-L"$lib" -lfzgm -lm -lpthread "-Wl,-rpath,$lib")

# blocks <page> <language> <ending>: each into a file of its own.
blocks() {
  awk -v language="$2" -v base="$work/$(basename "$1" .md)" -v ending="$3" '
    /^```/ { if (inside) { inside = 0; close(file) } else if ($0 == "```" language) { inside = 1; file = base "-" ++n "." ending } ; next }
    inside { print > file }' "$1"
}

program() { "$@" -o "$work/program" && "$work/program" >"$work/out" || { cat "$work/out" >&2; return 1; }; }

gfortran -std=f2018 -J"$work" -c "$prefix/include/fzgm.f90" -o "$work/fzgm.o"
compiled=0 ran=0
for page in README.md docs/*.md; do
  for pair in c:c cpp:cpp fortran:f90; do blocks "$page" "${pair%:*}" "${pair#*:}"; done
done
for file in "$work"/*-*.c "$work"/*-*.cpp "$work"/*-*.f90; do
  [ -e "$file" ] || continue
  case $file in
    *.c) compile=(cc -std=c11 "${flags[@]}") ;;
    *.cpp) compile=(c++ -std=c++17 "${flags[@]}") ;;
    *.f90) compile=(gfortran -std=f2018 -Wall -Wextra -Werror -I"$work" -J"$work") ;;
  esac
  if grep -qE '^int main|^program ' "$file"; then
    objects=() && [[ $file != *.f90 ]] || objects=("$work/fzgm.o")
    program "${compile[@]}" "$file" "${objects[@]}" "${link[@]}" || { printf 'FAILED: %s\n' "$(basename "$file")" >&2; exit 1; }
    ran=$((ran + 1))
  else
    if [[ $file == *.c ]] && ! grep -qE '^(static|int|void|double|fz_)[^;=]*\) \{$' "$file"; then
      { echo '#include "around.h"'; grep '^#' "$file" || true; printf 'int shown(void);\nint shown(void) {\n'; grep -v '^#' "$file"; printf '  return 0;\n}\n'; } >"$work/whole.c"
      mv "$work/whole.c" "$file"
      compile+=(-Wno-unused-variable -Wno-unused-but-set-variable)
    fi
    "${compile[@]}" -c "$file" -o "$work/object.o" || { printf 'FAILED: %s\n' "$(basename "$file")" >&2; exit 1; }
    compiled=$((compiled + 1))
  fi
done
[ $((compiled + ran)) -ge 10 ] || { printf 'FAILED: only %d blocks were found\n' $((compiled + ran)) >&2; exit 1; }
printf 'ok  %d blocks of the pages compile, %d programs of them run\n' "$compiled" "$ran"
