#!/usr/bin/env bash
# On a machine with a GPU: runs what scripts/bundle.sh packed. One line per step; logs beside it, or in $OUT.
#
#   run.sh [quick]     quick: without the sanitizers
#
# FIELDS: a folder with raw arrays named NAME.XxYxZ.f32 (or .f64), to measure with.
set -u
cd "$(dirname "$0")" || exit 1
logs=${OUT:-$PWD/logs}
mkdir -p "$logs"
export LD_LIBRARY_PATH=$PWD/lib:${LD_LIBRARY_PATH:-} FZGM_REQUIRE_GPU=1 FZGM_GOLDEN=$PWD/golden
failures=0

# step <name> <command…>
step() {
  local name=$1 started=$SECONDS
  shift
  if "$@" >"$logs/$name.log" 2>&1; then result=PASS; else result="FAIL ($?)"; failures=$((failures + 1)); fi
  printf '%-28s %-10s %4d s  %s\n' "$name" "$result" $((SECONDS - started)) "$(grep -h 'test result' "$logs/$name.log" | tail -n 1)"
  [ "$result" = PASS ] || grep -E 'panicked|ERROR|error|differ|status' -A 3 "$logs/$name.log" | head -n 12 | sed 's/^/    /'
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -n 1
for program in cuda contract pipelines; do step "$program" "tests/$program"; done
step sass_only env CUDA_DISABLE_PTX_JIT=1 tests/cuda
step ptx_only env CUDA_FORCE_PTX_JIT=1 tests/cuda
# Without a device everything that does not need one works, and the rest says why it does not.
step no_device env -u FZGM_REQUIRE_GPU CUDA_VISIBLE_DEVICES= tests/cuda
if command -v nvcc >/dev/null; then
  for source in gpu/*.cu; do
    name=$(basename "$source" .cu)
    step "build_$name" nvcc -O2 -Iinclude "$source" -Llib -lfzgm -o "bin/$name"
    step "$name" "bin/$name"
  done
fi
if [ "${1:-}" != quick ] && command -v compute-sanitizer >/dev/null; then
  # To ask the driver where an address lives is an error of its interface when the answer is "I do not know".
  check() { compute-sanitizer --tool "$1" --error-exitcode 9 "${@:2}" --test-threads=1; }
  step memcheck check memcheck --report-api-errors no tests/cuda
  step initcheck check initcheck tests/cuda
  step synccheck check synccheck tests/cuda
  step racecheck check racecheck tests/cuda graphs asynchrony
  step mutations env FZGM_MUTATIONS=600 bash -c "$(declare -f check); check memcheck --report-api-errors no tests/cuda hostile"
fi
for field in "${FIELDS:-none}"/*.f[36][24]; do
  [ -e "$field" ] || continue
  name=$(basename "$field") dims=${field%.*}
  step "bench_$name" bin/fzgm bench --device cuda --dtype "${name##*.}" --dims "${dims##*.}" --preset pfpl --preset bits --eb 1e-3 --runs 15 "$field"
  cat "$logs/bench_$name.log"
done
printf 'failures: %d\n' "$failures"
exit "$failures"
