#!/usr/bin/env bash
# The operator of ADIOS2 in the ADIOS2 of a Python environment: its interface, files of C++ and Python, damage, and the examples of
# docs/adios2.md.
#
#   run.sh <python with adios2> <folder of libfzgm_adios2.so> <build folder> [<prefix of fzgm>]      the prefix is for the benchmark
. "$(dirname "$0")/../shell.sh"
python=$1 folder=$(realpath "$2") tree=$3 prefix=${4:-}
cd "$here/../.."
export ADIOS2_PLUGIN_PATH=$folder
plugin=$folder/libfzgm_adios2.so

exported=$(nm -D --defined-only "$plugin" | awk '{print $3}' | sort | tr '\n' ' ')
[ "$exported" = "OperatorCreate OperatorDestroy " ] || fail "the plugin exports $exported"
needed=$(readelf -d "$plugin" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
case $needed in *adios* | *cuda* | *mpi*) fail "the plugin needs $needed" ;; esac
ok "the plugin exports two functions, and needs $needed"

# block <language> <file>: the first block of the page in a language.
block() {
  awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { if (inside) exit } inside' docs/adios2.md >"$2"
  [ -s "$2" ] || fail "docs/adios2.md has no block of $1"
}
mkdir -p "$tree"
block c++ "$work/example.cpp"
cmp -s "$work/example.cpp" "$tree/example.cpp" || cp "$work/example.cpp" "$tree/example.cpp"
block python "$work/example.py"
adios=$("$python" -c 'import adios2, os; print(os.path.dirname(adios2.__file__))')
cmake -S tests/adios2 -B "$tree" -DADIOS2_DIR="$adios/cmake/adios2" -DEXAMPLE="$(realpath "$tree")/example.cpp" -DFZGM_PREFIX="$prefix" >"$tree.log" 2>&1 \
  && cmake --build "$tree" -j "$(nproc)" >>"$tree.log" 2>&1 || { tail -n 40 "$tree.log" >&2; fail "tests/adios2 does not compile"; }
tree=$(realpath "$tree")

"$tree/interface" "$plugin" >"$work/out" || { cat "$work/out" >&2; fail interface; }
grep '^ok' "$work/out"
cd "$work"
for engine in BP4 BP5; do
  "$tree/round_trip" write $engine "$engine.bp"
  "$tree/round_trip" read "$engine.bp"
  "$tree/round_trip" damage $engine damaged.bp >/dev/null
  # `damage` left a file with variable T. Without the variable of the environment, and with a folder that has no plugin.
  env -u ADIOS2_PLUGIN_PATH "$tree/round_trip" without damaged.bp >out
  grep -q 'Failed to load library' out || fail "without ADIOS2_PLUGIN_PATH: $(cat out)"
  ADIOS2_PLUGIN_PATH=$work "$tree/round_trip" without damaged.bp >out
  grep -q "find operator plugin named fzgm" out || fail "with an empty folder: $(cat out)"
  rm -r damaged.bp
done
"$tree/round_trip" wrong >/dev/null
ok "BP4 and BP5 in C++: every type, bounds, steps, blocks, damage, a reader without the plugin, wrong parameters"
for engine in BP4 BP5; do
  "$tree/amr" plot.bp $engine >out || fail "the example of an adaptive mesh: $(cat out)"
  rm -r plot.bp
  ok "patches of an adaptive mesh, $(tail -n 1 out)"
done
"$tree/example" >out && "$python" example.py >>out
ok "the examples of docs/adios2.md: $(tr '\n' ' ' <out)"
"$python" "$here/test_adios2.py" "$tree/round_trip"
