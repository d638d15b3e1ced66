#!/usr/bin/env bash
# On a machine with a GPU: runs what scripts/bundle.sh packed. One line per part; logs in $OUT, or beside it.
#
#   run.sh [-j N] [<part or group>…]     without any: the group suite. `run.sh list` names all.
#
# -j: the number of parts at a time, for comparisons and checks only: not for bench, memory, limits, and large.
# FZGM_FIELDS: folders of fields for the part fields. THIN: the factor by which the sanitizers run fewer arrays.
set -u
cd "$(dirname "$0")" || exit 1
# Python where there is no xz.
if [ -e packed.tar.xz ] && [ ! -d tests ]; then
  tar -xf packed.tar.xz 2>/dev/null || python3 -m tarfile -e packed.tar.xz . || exit 1
fi
out=${OUT:-$PWD/logs}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
mkdir -p "$out"
lib=$(dirname "$(find prefix -name 'libfzgm.so.*.*.*' | head -n 1)")
so=$(basename "$lib"/libfzgm.so.*.*.*)
abi=libfzgm.so.$(sed -n 's/^#define FZ_ABI_VERSION //p' prefix/include/fzgm.h)
ln -sf "$so" "$lib/$abi"
ln -sf "$abi" "$lib/libfzgm.so"
export LD_LIBRARY_PATH=$PWD/$lib:${LD_LIBRARY_PATH:-} FZGM_REQUIRE_GPU=1 FZGM_GOLDEN=$PWD/golden FZGM_CODERS=$PWD/golden/coders FZGM_STAGES=$PWD/src/stages FZGM_TABLE=$out/fields.csv
# Outside the bundle, which may be replaced.
made=$(dirname "$(mktemp -u)")/fzgm-fields

# Name, group, seconds that it may take, command, which may start with settings. `long` is a program of tests at full size. The
# tools of compute-sanitizer are commands of that name; with them the device runs one of $SHARE small arrays.
parts() {
  cat <<'TABLE'
cuda          suite       400 tests/it cuda:: fast:: ginterp:: lorenzo:: bins:: rel:: header_bounds::
contract      suite       500 tests/it contract::
pipelines     suite       300 tests/it pipelines::
coders        suite       300 long tests/it coders::
sass_only     suite       400 CUDA_DISABLE_PTX_JIT=1 tests/it cuda:: fast:: ginterp:: lorenzo:: bins:: rel:: header_bounds::
ptx_only      suite       400 CUDA_FORCE_PTX_JIT=1 tests/it cuda:: fast:: ginterp:: lorenzo:: bins:: rel:: header_bounds::
no_device     suite       300 FZGM_REQUIRE_GPU=0 CUDA_VISIBLE_DEVICES= tests/it cuda::
late          suite       200 late
package       suite       300 bash package.sh
hdf5          suite       200 bash hdf5/run.sh
repeats       campaign    300 long tests/full repeats_of_every
replays       campaign    300 long tests/full a_graph_of
memory        campaign    300 long tests/full campaign::memory::
limits        campaign    100 long tests/full campaign::limits::
flips         campaign    300 FZGM_FLIPS=600 tests/it cuda::bit_flips::
two_processes campaign    200 FZGM_SECONDS=120 twice long tests/full campaign::streams::
large_bits    large       400 long tests/full bits_at five_gib_of_u16_without
large_pfpl    large       300 long tests/full pfpl_at
large_rel     large       300 long tests/full rel_at
large_fz      large       400 long tests/full eight_gib
large_f64     large       400 long tests/full sixteen_gib
large_fast32  large       500 long tests/full seventeen_gib_of_f32
large_fast64  large       400 long tests/full seventeen_gib_of_f64
large_cusz    large       400 long tests/full five_gib_of_f64_in_cusz
large_lc_s    large       300 long tests/full five_gib_of_f64_in_lc_speed
large_lc_r    large       300 long tests/full five_gib_of_f64_in_lc_ratio
fields        fields      580 long tests/full --nocapture fields::a_corner fields::all_given
fields_512    fields_512  580 made_fields
f32_abs       exhaustive  300 long tests/full --nocapture exhaustive::every_f32_abs
f32_rel       exhaustive  500 long tests/full --nocapture exhaustive::every_f32_rel_te exhaustive::every_f32_rel_th
f32_rel_fine  exhaustive  500 long tests/full --nocapture exhaustive::every_f32_rel_mi
f64_abs       exhaustive  500 long tests/full --nocapture exhaustive::random_f64_abs
f64_rel_tenth exhaustive  500 long tests/full --nocapture exhaustive::random_f64_rel_te
f64_rel       exhaustive  500 long tests/full --nocapture exhaustive::random_f64_rel_th
f64_rel_fine  exhaustive  500 long tests/full --nocapture exhaustive::random_f64_rel_mi
mem_calls     memcheck    200 memcheck tests/it cuda::asynchrony cuda::graphs cuda::functions cuda::pointers
mem_fz        memcheck    300 memcheck tests/it lorenzo::
mem_rel       memcheck    200 memcheck tests/it rel::
mem_mutants   memcheck    400 FZGM_MUTATIONS=600 memcheck tests/it cuda::damage_on_device::asynchronous
mem_garbled   memcheck    400 FZGM_MUTATIONS=200 memcheck tests/it cuda::damage_on_device::garbled
mem_streams   memcheck    400 FZGM_MUTATIONS=4000 FZGM_ONLY=fast memcheck tests/it cuda::damage_on_device::garbled
mutants_0     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=0/8 memcheck tests/it cuda::mutants::
mutants_1     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=1/8 memcheck tests/it cuda::mutants::
mutants_2     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=2/8 memcheck tests/it cuda::mutants::
mutants_3     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=3/8 memcheck tests/it cuda::mutants::
mutants_4     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=4/8 memcheck tests/it cuda::mutants::
mutants_5     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=5/8 memcheck tests/it cuda::mutants::
mutants_6     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=6/8 memcheck tests/it cuda::mutants::
mutants_7     mutants     400 FZGM_MUTATIONS=2000 FZGM_PART=7/8 memcheck tests/it cuda::mutants::
mem_flips     mutants     400 FZGM_FLIPS=40 memcheck tests/it cuda::bit_flips::
mem_blocking  memcheck    200 memcheck tests/it cuda::damage_on_device::blocking
mem_contract  memcheck    300 SHARE=20 memcheck tests/it contract::every_stage contract::presets_hold contract::what_does
mem_forms     memcheck    300 memcheck tests/it contract::pairs_of contract::main_forms
mem_pipelines memcheck    200 memcheck tests/it pipelines::
mem_fast      memcheck    300 memcheck tests/it fast::
mem_ginterp   memcheck    400 memcheck tests/it ginterp::
mem_coders    memcheck    300 memcheck tests/it coders::
init_calls    initcheck   200 initcheck tests/it cuda::asynchrony cuda::graphs cuda::pointers
init_fz       initcheck   300 initcheck tests/it lorenzo::
init_rel      initcheck   200 initcheck tests/it rel:: cuda::damage_on_device
init_contract initcheck   300 SHARE=20 initcheck tests/it contract::every_stage contract::presets_hold contract::what_does
init_forms    initcheck   300 initcheck tests/it contract::pairs_of contract::main_forms
init_pipelines initcheck  200 initcheck tests/it pipelines::
init_fast     initcheck   300 initcheck tests/it fast::
init_ginterp  initcheck   300 initcheck tests/it ginterp::
init_coders   initcheck   300 initcheck tests/it coders::
sync_calls    synccheck   200 synccheck tests/it cuda::asynchrony cuda::graphs cuda::pointers
sync_fz       synccheck   300 synccheck tests/it lorenzo::
sync_rel      synccheck   200 synccheck tests/it rel:: cuda::damage_on_device
sync_fast     synccheck   300 synccheck tests/it fast::
sync_ginterp  synccheck   300 synccheck tests/it ginterp::
sync_coders   synccheck   300 synccheck tests/it coders::
sync_contract synccheck   300 SHARE=20 synccheck tests/it contract::every_stage contract::presets_hold contract::what_does
sync_forms    synccheck   300 synccheck tests/it contract::pairs_of contract::main_forms
sync_pipelines synccheck  200 synccheck tests/it pipelines::
race_graphs   racecheck   150 racecheck tests/it cuda::graphs
race_coders   racecheck   300 SHARE=10 racecheck tests/it coders::huffman_is coders::bytes_and
race_fast     racecheck   300 SHARE=4 racecheck tests/it fast::
race_ginterp  racecheck   300 SHARE=8 racecheck tests/it ginterp::
race_calls    racecheck   150 racecheck tests/it cuda::asynchrony
race_hosts    racecheck   150 racecheck tests/it cuda::pointers
race_fz_forms racecheck   150 SHARE=3 racecheck tests/it lorenzo::values::every_shape
race_fz_lists racecheck   150 SHARE=4 racecheck tests/it lorenzo::lists::runs lorenzo::lists::lists cuda::lorenzo::numbers
race_rel      racecheck   150 SHARE=4 racecheck tests/it rel::
race_damage   racecheck   420 FZGM_MUTATIONS=40 racecheck tests/it cuda::damage_on_device
race_stages   racecheck   150 SHARE=120 racecheck tests/it contract::every_stage
race_pairs    racecheck   150 SHARE=30 racecheck tests/it contract::pairs_of
race_quantizer racecheck  150 SHARE=8 racecheck tests/it contract::main_forms
race_presets  racecheck   150 SHARE=16 racecheck tests/it contract::presets_hold contract::what_does
race_pipelines racecheck  150 racecheck tests/it pipelines::
bench_f32     bench       400 bench_f32
bench_f64     bench       300 bench_f64
bench_graph   bench       200 bench_graph
TABLE
}

# The programs of CUDA that need a toolkit to be built.
late() {
  local source name
  for source in gpu/*.cu; do
    name=$(basename "$source" .cu)
    nvcc -O2 -Iprefix/include "$source" -L"$lib" -lfzgm -o "$logs/$name" && "$logs/$name" || return 1
  done
}

# Fields of 512^3, made where they are needed; a line of particles besides.
make_fields() {
  mkdir -p $made/part
  [ -e $made/fields.json ] || python3 extra/fields.py $made --n 512 --only turb,density,cloud,wave,climate
}

made_fields() {
  make_fields && FZGM_FIELDS=$made long tests/full --nocapture fields::all_given
}

# measure <options of fzgm bench>…
measure() { prefix/bin/fzgm bench --device cuda --value-base "$@"; }

# Whole calls. The parts have other names than their group, so that each can be selected alone. Their results are in folders of
# $made, of which itself the part fields_512 tests every file. preset fz has no room for the fill values of climate.
bench_f32() {
  local name dims more
  make_fields && python3 extra/fields.py $made/line --n 512 --only particles || return 1
  for name in turb density cloud wave climate line/particles; do
    dims=512x512x512 more=(--preset fz)
    case $name in
      climate) dims=8192x4096 more=(--outlier-threshold 1e19) ;;
      line/particles) dims=67108864 ;;
    esac
    measure --dtype f32 --dims "$dims" --preset fast --preset pfpl --preset bits "${more[@]}" --eb 1e-3 --eb 1e-4 --runs 15 \
      "$made/$name.f32" || return 1
  done
}

# The first half of each volume.
bench_f64() {
  local name
  make_fields || return 1
  for name in turb density cloud wave; do
    python3 -c 'import numpy, sys
numpy.fromfile(sys.argv[1], "<f4", 1 << 26).astype("<f8").tofile(sys.argv[2])' $made/$name.f32 $made/part/half.f64 || return 1
    echo "$name"
    measure --dtype f64 --dims 512x512x256 --preset fast --preset pfpl --eb 1e-3 --runs 15 $made/part/half.f64 || return 1
  done
}

# 4 MiB, as one call and as a graph that is launched again.
bench_graph() {
  local _
  make_fields && head -c 4194304 $made/turb.f32 >$made/part/small.f32 || return 1
  for _ in 1 2 3; do
    measure --dtype f32 --dims 128x128x64 --preset fast --preset pfpl --eb 1e-3 --graph --runs 50 $made/part/small.f32 || return 1
  done
}

# twice <command…>: as two processes at once.
twice() {
  local first second code=0
  "$@" &
  first=$!
  "$@" &
  second=$!
  wait $first || code=$?
  wait $second || code=$?
  return $code
}

long() { FZGM_LONG=1 "$@" --test-threads=1; }

# The sanitizer reports a query for an address as an error if the driver has no record of the address.
sanitize() {
  local tool=$1 flags=() share
  share=${SHARE:-$([ "$1" = racecheck ] && echo 24 || echo 4)}
  shift
  [ "$tool" = memcheck ] && flags=(--report-api-errors no)
  FZGM_SHARE=$((share * ${THIN:-1})) \
    compute-sanitizer --tool "$tool" --error-exitcode 9 "${flags[@]}" "$@" --test-threads=1
}

# one <command…>: runs a line of the table, in this process.
one() {
  while [[ $1 == *=* ]]; do export "${1?}"; shift; done
  case $1 in
    memcheck | initcheck | synccheck | racecheck) sanitize "$@" ;;
    *) "$@" ;;
  esac
}

# part <name> <group> <seconds> <command…>: runs a part and prints its result at once.
part() {
  local name=$1 group=$2 limit=$3 log=$logs/$1.log started=$SECONDS result code=0 said
  shift 3
  # timeout ends processes and no functions: this script again, for one line of it.
  timeout -k 10 "$limit" bash run.sh --one "$@" >"$log" 2>&1 || code=$?
  case $code in
    0) result=PASS ;;
    124 | 137) result="CUT OFF" ;;
    *) result="FAIL ($code)" ;;
  esac
  said=$(grep -h 'test result' "$log" | tail -n 1 | sed -n 's/.*\. \([0-9]* passed; [0-9]* failed\).*/\1/p')
  said+=$(grep -c '^ON THE DEVICE' "$log" | sed 's/^0$//; s/\(..*\)/, \1 arrays/')
  said+=$(sed -n 's/^=* \(ERROR SUMMARY: .*\|RACECHECK SUMMARY: .*\)/, \1/p' "$log" | tail -n 1)
  {
    printf '%-15s %-9s %4d s  %.90s\n' "$name" "$result" $((SECONDS - started)) "$said"
    [ "$group" != bench ] || cat "$log"
    grep -ho 'NOTE .*\(mutants\|changes\|streams\).*' "$log" | cut -c 1-170 | sed 's/^/    /'
    grep -h ' violations, ' "$log" | cut -c 1-170 | sed 's/^/    /'
    if [ "$result" != PASS ]; then
      grep -E 'panicked|SKIPPED|ERROR|rror:|differ|hazard|violat' -A 2 "$log" | cut -c 1-160 | head -n 4 | sed 's/^/    /'
    fi
  } >"$logs/$name.said"
  (
    flock 9
    cat "$logs/$name.said"
    [ "$result" = PASS ] || echo "$name" >>"$logs/failed"
    { printf '\n######## %s %s\n' "$name" "$result"; grep -v '^ON THE DEVICE' "$log" | tail -c 100000; } >>"$out/log.txt"
  ) 9>"$logs/turn"
}

if [ "${1:-}" = --one ]; then
  shift
  one "$@"
  exit
fi
if [ "${1:-}" = list ]; then parts | awk '{ print $2, $1 }'; exit; fi
jobs=1
if [ "${1:-}" = -j ]; then jobs=${2:?} && shift 2; fi
[ $# -gt 0 ] || set -- suite
[ -n "${FZGM_FIELDS:-}" ] || [ ! -d extra/data ] || export FZGM_FIELDS=$PWD/extra/data
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>&1 | head -n 1
touch "$logs/failed"
for wanted in "$@"; do
  found=
  while read -r name group limit command; do
    [ "$wanted" = "$name" ] || [ "$wanted" = "$group" ] || continue
    found=1
    while [ "$(jobs -r | wc -l)" -ge "$jobs" ]; do wait -n; done
    # Its words are those of the table.
    # shellcheck disable=SC2086
    part "$name" "$group" "$limit" $command </dev/null &
  done < <(parts)
  [ -n "$found" ] || { echo "there is no part or group $wanted; run.sh list names them"; echo "$wanted" >>"$logs/failed"; }
done
wait
failures=$(wc -l <"$logs/failed")
printf 'failures: %d\n' "$failures"
[ "$failures" = 0 ]
