#!/usr/bin/env bash
# The filter in the tools of HDF5: h5repack writes and h5dump reads through the plugin in HDF5_PLUGIN_PATH.
#
#   tools.sh <python with h5py> <the program fzgm>
. "$(dirname "$0")/../shell.sh"
python=$1 program=$(realpath "$2")
cd "$work"

id=$(sed -n 's/^#define H5Z_FILTER_FZGM //p' "$here/../../hdf5-filter/fzgm_hdf5.h")
grep -q "^FILTER_ID = $id " "$here/../../hdf5-filter/python/fzgm_hdf5.py" || fail "fzgm_hdf5.py and fzgm_hdf5.h differ on the id"
# Module and program write the same words, and explain them alike.
module=$here/../../hdf5-filter/python/fzgm_hdf5.py
for preset in default pfpl fz fast high cusz cusz_ans lc_cr high_once; do
  "$python" "$module" words abs 1e-3 $preset >python.txt
  "$program" hdf5 words --eb 1e-3 --preset $preset >program.txt
  cmp python.txt <(sed 1d program.txt) || fail "fzgm_hdf5.py and fzgm differ on preset $preset"
  words=$(sed -n 's/.*UD=[0-9]*,0,[0-9]*,//p' python.txt)
  [ "$("$program" hdf5 describe "$words")" = "$(sed 1q program.txt)" ] || fail "fzgm does not explain its words of preset $preset"
  define=$(printf '%s' $preset | tr a-z A-Z)
  number=$(sed -n "s/^#define FZGM_PRESET_$define  *\([0-9]*\).*/\1/p" "$here/../../hdf5-filter/fzgm_hdf5.h")
  [ "$number" = "${words##*,}" ] || fail "fzgm_hdf5.h has $number for preset $preset, not ${words##*,}"
done
cmp <("$python" "$module" words lossless 0 exact) <("$program" hdf5 words --mode lossless --preset exact | sed 1d) || fail "fzgm_hdf5.py and fzgm differ on preset exact"
[ "$("$program" hdf5 describe 0,0,0,5)" = "lossless, preset exact" ] || fail "fzgm does not explain its words of preset exact"
grep -q "^#define FZGM_PRESET_EXACT 5 " "$here/../../hdf5-filter/fzgm_hdf5.h" || fail "fzgm_hdf5.h has another number for preset exact"
for mode in "rel 0.01" lossless; do
  # shellcheck disable=SC2086
  set -- $mode
  cmp <("$python" "$module" words $mode) <("$program" hdf5 words --mode "$1" ${2:+--eb $2} | sed 1d) || fail "fzgm_hdf5.py and fzgm differ on mode $1"
done

"$python" - <<'PY'
import h5py, numpy as np
x = np.fromfunction(lambda i, j, k: np.sin(i / 5) * np.cos(j / 7) + k / 50, (32, 32, 50))
with h5py.File("in.h5", "w", libver=("earliest", "v110")) as f:
    for name, dtype in dict(f32="<f4", f64="<f8", f32be=">f4", f64be=">f8").items():
        f[name] = x.astype(dtype)
    f["i16"], f["u8"], f["text"], f["scalar"] = (x * 100).astype("<i2"), (x * 50 + 80).astype("u1"), np.array([b"ab", b"cd"]), 3.0
    f["line"] = np.linspace(0, 1, 100003)
    f["nan"] = np.where(x > 0.9, np.nan, x).astype("f4")
PY
cat >compare.py <<'PY'
import sys, h5py, numpy as np
bound = float(sys.argv[3])
with h5py.File(sys.argv[1]) as a, h5py.File(sys.argv[2]) as b:
    for name in a:
        x, y = a[name][()], b[name][()]
        if np.asarray(x).dtype.kind == "f":
            assert np.array_equal(np.isnan(x), np.isnan(y)), name
            d = np.nanmax(np.abs(np.asarray(x, "f8") - y))
            assert d <= bound, (name, d)
        else:
            assert np.array_equal(x, y), name
PY
# compressed <file> <count>: h5repack exits with 0 even if a filter fails, so the datasets with the
# filter are counted.
compressed() {
  local n
  n=$(h5dump -pH "$1" | grep -c "FILTER_ID $id" || true)
  [ "$n" = "$2" ] || fail "$1 has $n compressed datasets, not $2"
}

# 0.001 as two words, the low one first.
low=3539053052 high=1062232653
for spec in CHUNK=16x16x50 CHUNK=32x8x10; do
  h5repack -f "UD=$id,0,3,1,$low,$high" -l "f32,f64,f32be,f64be,i16,u8,nan:$spec" -l line:CHUNK=5000 -l text:CHUNK=2 in.h5 out.h5
  compressed out.h5 9
  "$python" compare.py in.h5 out.h5 1e-3
  h5dump out.h5 >dump.txt || fail "h5dump does not read what h5repack wrote"
  grep -q "COMMENT fzgm" <(h5dump -pH out.h5) || fail "h5dump does not show the name of the filter"
  # The stored words, handed back with other chunks, and the result once more.
  h5repack -l f32,f64,f32be,f64be:CHUNK=8x32x25 out.h5 again.h5
  compressed again.h5 9
  "$python" compare.py out.h5 again.h5 0
  h5repack -f NONE out.h5 plain.h5
  compressed plain.h5 0
  "$python" compare.py out.h5 plain.h5 0
done

h5repack -f "f64:UD=$id,0,3,2,$low,$high" -l f64:CHUNK=16x16x50 in.h5 rel.h5
compressed rel.h5 1
for preset in 4 9; do
  h5repack -f "f32:UD=$id,0,4,1,$low,$high,$preset" -l f32:CHUNK=16x16x50 in.h5 high.h5
  compressed high.h5 1
  "$python" compare.py in.h5 high.h5 1e-3
  # h5dump prints the words that a dataset stores.
  params=$(h5dump -pH -d f32 high.h5 | sed -n 's/.*PARAMS { \(.*\) }.*/\1/p')
  # shellcheck disable=SC2086
  "$program" hdf5 describe $params | grep -q "f32; chunks of 16x16x50" || fail "fzgm does not explain what h5dump prints"
done
h5repack -f "f64:UD=$id,0,0" -l f64:CHUNK=16x16x50 in.h5 lossless.h5
compressed lossless.h5 1
"$python" compare.py in.h5 lossless.h5 0
h5repack -f SHUF -f "f64:UD=$id,0,3,1,$low,$high" -l f64:CHUNK=16x16x50 in.h5 refused.h5 >refused.txt 2>&1 || true
[ ! -e refused.h5 ] || compressed refused.h5 0

# A damaged chunk: h5dump fails and prints the reason.
"$python" - <<'PY'
import h5py
with h5py.File("out.h5") as f:
    where = f["f32"].id.get_chunk_info(0)
with open("out.h5", "r+b") as f:
    f.seek(where.byte_offset + where.size // 2)
    byte = f.read(1)[0]
    f.seek(-1, 1)
    f.write(bytes([byte ^ 4]))
PY
if h5dump --enable-error-stack -d /f32 out.h5 >dump.txt 2>errors.txt; then fail "h5dump reads a damaged chunk"; fi
grep -q "fzgm: a chunk cannot be restored" errors.txt dump.txt || { cat errors.txt; fail "the error stack has no reason"; }
printf 'ok  h5repack and h5dump %s\n' "$(h5dump --version | sed 's/.*Version //')"
