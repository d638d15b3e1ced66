#!/usr/bin/env bash
# On a machine with a GPU and no cargo: builds examples/compress_cuda.c against the installed package of the bundle, as its
# users do, and runs it. By CMake with gcc, shared and static; by nvcc; by gcc with the flags of pkg-config.
set -euo pipefail
cd "$(dirname "$0")"
prefix=$PWD/prefix work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
so=$(find "$prefix" -name 'libfzgm.so.*.*.*')
lib=$(dirname "$so")
shape=(301 200 100)

# run <what> <program>
run() {
  printf '%s: ' "$1"
  LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$2" "${shape[@]}" | tee "$work/said" | tr '\n' ';'
  echo
  grep -q 'worst error / bound 0\.[0-9]' "$work/said" || grep -q 'worst error / bound 1\.0000' "$work/said"
}

for kind in shared static; do
  static=OFF
  [ $kind = static ] && static=ON
  cmake -S examples -B "$work/$kind" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release -DFZGM_USE_STATIC=$static
  cmake --build "$work/$kind" --target compress_cuda
  # A program with the shared library names it, and a program without it needs none.
  needed=$(readelf -d "$work/$kind/compress_cuda" | grep -c 'NEEDED.*libfzgm' || true)
  [ "$needed" = $([ $kind = shared ] && echo 1 || echo 0) ] || { echo "$kind links libfzgm.so $needed times"; exit 1; }
  run "cmake, gcc, $kind" "$work/$kind/compress_cuda"
done
nvcc -O2 -I"$prefix/include" examples/compress_cuda.c -L"$lib" -lfzgm -lm -o "$work/by_nvcc"
run nvcc "$work/by_nvcc"
if command -v pkg-config >/dev/null; then
  cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH=$lib/pkgconfig gcc -std=c11 -O2 -I"$cuda/include" -I"$cuda/targets/x86_64-linux/include" examples/compress_cuda.c -o "$work/by_pkg_config" \
    $(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs fzgm) -L"$cuda/lib64" -L"$cuda/lib" -L"$cuda/targets/x86_64-linux/lib" -lcudart -lm
  run "gcc, pkg-config" "$work/by_pkg_config"
fi
