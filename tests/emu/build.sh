#!/usr/bin/env bash
# Builds the emulated driver with the kernels in it: build/emu/libcuda.so.1, or with sanitizers
# build/emu-asan/libcuda.so.1. Unchanged files are not compiled again.
#
#   tests/emu/build.sh [plain|asan] [file.cu…]     all files below kernels/, or the named files
#
# FZ_EMU_OUT: another folder for the result.
. "$(dirname "$0")/../../scripts/lib.sh"
kind=${1:-plain}
shift || true
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find kernels -name '*.cu' | sort)

# Nothing is contracted or reordered, and no rounding is taken for granted: bits are those of the device. Of two branches
# that load the same bytes, one of them only if they are aligned, g++ 12 makes one that traps if they are not: no tail merge.
flags=(-std=c++17 -g1 -fPIC -ffp-contract=off -frounding-math -fno-strict-aliasing -fno-tree-tail-merge -Wall -Wextra -Wno-unknown-pragmas
  -Wno-unused-function -Wno-unused-but-set-variable -Wno-parentheses -fvisibility=hidden -DFZ_EMULATED -Itests/emu -Ikernels)
case $kind in
  # Kernels at level 1, as with sanitizers: level 2 takes twice as long to compile them.
  plain) out=build/emu; flags+=(-O1) ;;
  # Besides overruns: misaligned access, which traps on the device; shifts by too much and
  # conversions out of range, where the device saturates and the CPU does not; division by zero,
  # where the device continues.
  asan) out=build/emu-asan; flags+=(-O1 -fno-omit-frame-pointer -fno-sanitize-recover=all
    -fsanitize=address,alignment,bounds,shift,float-cast-overflow,integer-divide-by-zero) ;;
  *) die "unknown kind $kind; kinds: plain, asan" ;;
esac
out=${FZ_EMU_OUT:-$out}
mkdir -p "$out"
# One build of a folder at a time.
exec {lock}>"$out/lock"
flock "$lock"

# entries <file.cu>: `name, bounds` of its device functions, for FZ_ENTRY. Read behind the preprocessor, since macros may
# make them; without FZ_EMULATED, so that the words of CUDA are still there.
entries() {
  g++ -E -P -x c++ -std=c++17 -Ikernels "$1" | tr '\n' ' ' \
    | grep -oP 'extern\s+"C"\s+__global__\s+void\s+(__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?\w+(?=\s*\()' \
    | sed -E 's/.*void +//; s/^__launch_bounds__ *\((.*)\) *(\w+)$/\2, \1/'
}

# unit <file.cu> <name>: what is compiled. A namespace of its own, since nvcc compiles each file for itself and two
# files may have types or shared arrays of one name; unnamed, so that the linker merges nothing between them.
unit() {
  printf '#include "cuda_emu.h"\nnamespace {\n#include "%s"\n}\n' "$(realpath "$1")"
  printf 'extern unsigned char __start_fzshared_%s[] __attribute__((weak, visibility("hidden")));\n' "$2"
  printf 'extern unsigned char __stop_fzshared_%s[] __attribute__((weak, visibility("hidden")));\n' "$2"
  printf 'static fzemu::Entry entries_here[] = {\n'
  entries "$1" | sed 's/.*/  FZ_ENTRY(&),/'
  printf '};\n__attribute__((constructor)) static void enrol_them() {\n  fzemu::enrol(entries_here, __start_fzshared_%s, __stop_fzshared_%s);\n}\n' "$2" "$2"
}

# compile <file> <object>: with its dependencies beside it, for the next run.
compile() { g++ "${flags[@]}" -MMD -MF "$2.d" -c "$1" -o "$2"; }

# fresh <object>: it is newer than all it was made of, and than this script.
fresh() {
  [ -e "$1" ] && [ -e "$1.d" ] && [ ! "$0" -nt "$1" ] || return 1
  local source
  for source in $(sed 's/^[^:]*://; s/\\$//' "$1.d"); do [ -e "$source" ] && [ ! "$source" -nt "$1" ] || return 1; done
}

# kernels_object <file.cu> <object>
kernels_object() {
  local name
  name=$(name_of "$1")
  unit "$1" "$name" >"$2.cpp"
  grep -q FZ_ENTRY "$2.cpp" || die "$1 has no device function: extern \"C\" __global__ void name(FZ_ARGS)"
  compile "$2.cpp" "$2.tmp"
  # Variables that are neither constant nor initialized are shared memory; it becomes a section that
  # can be poisoned.
  objcopy --rename-section ".bss=fzshared_$name,alloc,load,data,contents" "$2.tmp" "$2"
  mv "$2.tmp.d" "$2.d"
  rm "$2.tmp"
}

# name_of <file>: one word, without the extension: kernels/fast/encode.cu is fast_encode.
name_of() {
  local name=${1%.*}
  case $1 in
    kernels/*) name=${name#kernels/} ;;
    *) name=$(basename "$name") ;;
  esac
  printf '%s' "${name//\//_}"
}

objects=()
busy=0
# job <command…>: in the background, as many at a time as there are processors.
job() {
  [ $busy -lt "$(nproc)" ] || { wait -n; busy=$((busy - 1)); }
  "$@" &
  busy=$((busy + 1))
}
for source in tests/emu/*.cpp tests/emu/driver/*.cpp "${files[@]}"; do
  object=$out/$(name_of "$source").${source##*.}.o
  objects+=("$object")
  fresh "$object" && continue
  case $source in
    *.cu) job kernels_object "$source" "$object" ;;
    *) job compile "$source" "$object" ;;
  esac
done
while [ $busy -gt 0 ]; do
  wait -n
  busy=$((busy - 1))
done
g++ "${flags[@]}" -shared -Wl,-soname,libcuda.so.1 -Wl,--no-undefined "${objects[@]}" -o "$out/libcuda.so.1" -lpthread
printf '%s\n' "$out/libcuda.so.1"
