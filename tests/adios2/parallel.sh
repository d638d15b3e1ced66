#!/usr/bin/env bash
# The operator in an ADIOS2 with MPI: files of 1 to 4 ranks, bpls, damage, the example of an adaptive mesh, the operator tests of ADIOS2, and
# a table of the seconds with more and more ranks.
#
#   parallel.sh <folder of engine.sh> <folder of libfzgm_adios2.so> <build folder>      MPIEXEC replaces `mpirun --oversubscribe`
. "$(dirname "$0")/../shell.sh"
engine=$(realpath "$1") folder=$(realpath "$2") tree=$3
cd "$here/../.."
export ADIOS2_PLUGIN_PATH=$folder OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$tree/upstream"
tree=$(realpath "$tree")
awk '$0 == "```c++" { inside = 1; next } /^```/ { if (inside) exit } inside' docs/adios2.md >"$tree/example.cpp"
python3 "$here/upstream.py" "$engine/source" "$tree/upstream"
cmake -S tests/adios2 -B "$tree" -DPARALLEL=ON -DADIOS2_DIR="$engine/tree" -DEXAMPLE="$tree/example.cpp" -DUPSTREAM="$tree/upstream" \
  -DADIOS2_SOURCE="$engine/source" >"$tree.log" 2>&1 \
  && cmake --build "$tree" -j "$(nproc)" >>"$tree.log" 2>&1 || { tail -n 40 "$tree.log" >&2; fail "tests/adios2 does not compile"; }
cd "$work"
bpls=$engine/tree/bin/bpls

# ranks <number> <program> <argument…>: ranks that hang are ended.
# shellcheck disable=SC2086
ranks() { timeout 300 ${MPIEXEC:-mpirun --oversubscribe} -n "$@"; }

# dumped <file>: bpls prints two variables of `round_trip write` within their bounds.
dumped() {
  "$bpls" -d -y "$1" i32 >i32.txt
  "$bpls" -d -y "$1" f32_2d >f32.txt
  python3 - <<'PYTHON'
import re

def numbers(path):
    with open(path) as file:
        return [float(x) for line in list(file)[1:] for x in re.findall(r"[-+.\w]+", line)]

def waves(step):
    return [(i * i // 50 + 7 * i + 1000 * step) % 2000 for i in range(3000)]

assert numbers("i32.txt") == [w % 120 for step in range(3) for w in waves(step)]
values = numbers("f32.txt")
assert len(values) == 9000
for i, (x, w) in enumerate(zip(values, (w for step in range(3) for w in waves(step)))):
    # bpls prints 6 digits.
    assert i % 3000 in range(10, 14) or abs(x - (w / 8 + 1 / 128)) <= 1e-2 + 1e-3, (i, x)
PYTHON
}

for kind in BP4 BP5; do
  for n in 1 2 3 4; do
    ranks $n "$tree/round_trip" write $kind $kind.bp
    for readers in 1 3; do ranks $readers "$tree/round_trip" read $kind.bp; done
    dumped $kind.bp
    [ $n = 4 ] || rm -r $kind.bp
  done
  ok "$kind with 1 to 4 ranks: every type, read by 1 and 3 ranks and by bpls"
  env -u ADIOS2_PLUGIN_PATH "$bpls" -d $kind.bp f32_2d >out 2>&1 && fail "bpls reads $kind without the plugin"
  [ $? -lt 128 ] || fail "bpls crashes without the plugin: $(cat out)"
  grep -q "Failed to load library\|find operator plugin" out || fail "bpls without the plugin: $(cat out)"
  for n in 1 3; do ranks $n "$tree/round_trip" damage $kind damaged.bp >/dev/null; rm -r damaged.bp; done
  ok "$kind: bpls without the plugin states an error; damaged blocks are exceptions on 1 and 3 ranks"
  for n in 1 2 3 4; do ranks $n "$tree/amr" plot.bp $kind; rm -r plot.bp; done
done

for test in SZ SZ3 SzComplex MGARD BZIP2 Blosc2; do
  count=0
  for kind in BP4 BP5; do
    for n in 1 2; do
      ranks $n "$tree/upstream_$test" $kind >out 2>&1 || { tail -n 40 out >&2; fail "operator tests of ADIOS2: $test, $kind, $n ranks"; }
      count=$((count + $(grep -c '\[       OK \]' out)))
    done
  done
  ok "operator tests of ADIOS2 with the plugin, $test: $count results of 1 and 2 ranks"
done

export FZGM_TIMED_FOLDER=$folder ADIOS2_PLUGIN_PATH=$tree
for kind in BP4 BP5; do for n in 1 2 3 4; do ranks $n "$tree/scaling" $kind scaling.bp; rm -r scaling.bp; done; done
