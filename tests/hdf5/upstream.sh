#!/usr/bin/env bash
# Tests that others wrote: t_filters_parallel.c of HDF5, test_filter.c, test_filter_repeat.c and tst_h_par_compress.c of netCDF, and that of the
# package hdf5plugin, each with this filter in place of its own. The sources come from Debian and PyPI and are not kept.
#
#   upstream.sh <python>      HDF5_PLUGIN_PATH names the folder of the plugin, PYTHONPATH that of fzgm_hdf5.py
. "$(dirname "$0")/../shell.sh"
python=$1
cd "$work"

"$python" -c 'import hdf5plugin' 2>/dev/null || "$python" -m pip install --quiet hdf5plugin
"$python" "$here/plugin_suite.py"
ok "hdf5plugin: its read and write test, 9 types without loss and 4 with a bound"

# Sources of the packages that are installed, by lists of our own.
mkdir -p lists/partial
list=
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources /etc/apt/sources.list; do
  if [ -z "$list" ] && [ -s "$file" ]; then
    list=$PWD/list.${file##*.}
    sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" >"$list"
  fi
done
[ -n "$list" ] || fail "there is no list of packages of Debian or Ubuntu"
apt() { apt-get -qq -o Dir::Etc::SourceList="$list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists" -o APT::Sandbox::User=root "$@"; }
apt update
apt source --download-only hdf5 netcdf
unpack() { mkdir -p "$2" && tar -xf "$(ls "$1"_*.orig.tar.* | head -n 1)" -C "$2" --strip-components=1; }
unpack hdf5 hdf5
unpack netcdf netcdf

# HDF5: one function sets the filter of all cases; ours is optional there as h5py sets it, and loses nothing.
"$python" - <<'PY'
import re
path = "hdf5/testpar/t_filters_parallel.c"
text = open(path, errors="replace").read()
text, n = re.subn(r"(set_dcpl_filter\(hid_t dcpl\)\s*\{)", r"\1 return H5Pset_filter(dcpl, 32770, H5Z_FLAG_OPTIONAL, 0, NULL);", text)
assert n == 1, n
open(path, "w").write(text)
PY
mkdir -p stubs
echo '#define config_srcdir "."' >stubs/H5srcdir_str.h
cp stubs/H5srcdir_str.h stubs/H5srcdir.h
# shellcheck disable=SC2046
mpicc -w -Istubs -Ihdf5/src -Ihdf5/test -Ihdf5/testpar $(pkg-config --cflags hdf5-openmpi) \
  hdf5/testpar/t_filters_parallel.c hdf5/test/h5test.c hdf5/test/testframe.c -o filters $(pkg-config --libs hdf5-openmpi) -lm
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for ranks in 2 4; do
  mpirun -n $ranks --oversubscribe ./filters >filters.txt 2>&1 || { tail -n 40 filters.txt; fail "t_filters_parallel with $ranks ranks"; }
  grep -q 'FAILED' filters.txt && { cat filters.txt; fail "t_filters_parallel with $ranks ranks"; }
  grep -q 'All Parallel Filters tests passed' filters.txt || { tail -n 5 filters.txt; fail "t_filters_parallel does not say that it passed"; }
done
ok "HDF5: t_filters_parallel with 2 and 4 ranks, $(grep '^Testing' filters.txt | sort -u | wc -l) cases each"

# netCDF: its filter is bzip2 with a level; the level becomes mode lossless. Where a second definition has to replace the first, the first
# one is a bound of 0.5. And the ranks that share a dataset which deflate compresses.
cd netcdf/nc_test4
"$python" - <<'PY'
import re

def change(path, *pairs):
    text = open(path, errors="replace").read()
    for pattern, by in pairs:
        text, n = re.subn(pattern, by, text)
        assert n == 1, (path, pattern, n)
    open(path, "w").write(text)

change("test_filter.c", (r"#define BZIP2_ID\s+\S+", "#define BZIP2_ID 32770"), (r"(#define BZIP2_LEVEL\s+)\d+", r"\g<1>0"))
change(
    "test_filter_repeat.c",
    (r"#define FILTER_ID 40000", "#define FILTER_ID 32770"),
    (r"params\[1\] = 17;\s*deffilter\(FILTER_ID,2,", "params[1] = 0; params[2] = 0x3fe00000; deffilter(FILTER_ID,3,"),
    (r"params\[1\] = 18;\s*deffilter\(FILTER_ID,2,", "deffilter(FILTER_ID,1,"),
)
change("../h5_test/tst_h_par_compress.c", (r"H5Pset_deflate\(plistid, deflate_level\)", "H5Pset_filter(plistid, 32770, H5Z_FLAG_OPTIONAL, 0, NULL)"))
PY
: >config.h
for name in test_filter test_filter_repeat; do
  # shellcheck disable=SC2046
  cc -w -I. -I../include -I../nc_test $(nc-config --cflags) $name.c -o $name -lnetcdf -lm
  ./$name >test.txt 2>&1 || { tail -n 30 test.txt; fail "$name of netCDF"; }
  grep -qiE 'mismatch|fail' test.txt && { cat test.txt; fail "$name of netCDF"; }
  ok "netCDF: $name"
done
# shellcheck disable=SC2046
mpicc -w -I. -I../include -I../nc_test -I../h5_test $(pkg-config --cflags hdf5-openmpi) ../h5_test/tst_h_par_compress.c -o shared $(pkg-config --libs hdf5-openmpi) -lm
mpirun -n 4 --oversubscribe ./shared >test.txt 2>&1 || { tail -n 30 test.txt; fail "tst_h_par_compress of netCDF"; }
grep -q 'Tests successful' test.txt || { cat test.txt; fail "tst_h_par_compress of netCDF"; }
ok "netCDF: tst_h_par_compress with 4 ranks"
