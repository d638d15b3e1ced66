#!/usr/bin/env bash
# Tests that others wrote: t_filters_parallel.c of HDF5, test_filter.c of netCDF, and that of the package hdf5plugin, each with this filter in place
# of its own. The sources come from Debian and PyPI and are not kept.
#
#   upstream.sh <python>      HDF5_PLUGIN_PATH names the folder of the plugin, PYTHONPATH that of fzgm_hdf5.py
. "$(dirname "$0")/../shell.sh"
python=$1
cd "$work"

"$python" -c 'import hdf5plugin' 2>/dev/null || "$python" -m pip install --quiet hdf5plugin
"$python" "$here/plugin_suite.py"
ok "hdf5plugin: its read and write test"

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
ok "HDF5: t_filters_parallel with 2 and 4 ranks"

# netCDF: its filter is bzip2 with a level; the level becomes mode lossless.
cd netcdf/nc_test4
"$python" - <<'PY'
import re
text = open("test_filter.c", errors="replace").read()
text, n = re.subn(r"#define BZIP2_ID\s+\S+", "#define BZIP2_ID 32770", text)
assert n == 1, n
text, n = re.subn(r"(#define BZIP2_LEVEL\s+)\d+", r"\g<1>0", text)
assert n == 1, n
open("test_filter.c", "w").write(text)
PY
: >config.h
# shellcheck disable=SC2046
cc -w -I. -I../include -I../nc_test $(nc-config --cflags) test_filter.c -o test_filter -lnetcdf -lm
./test_filter >test.txt 2>&1 || { tail -n 30 test.txt; fail "test_filter of netCDF"; }
ok "netCDF: test_filter"
