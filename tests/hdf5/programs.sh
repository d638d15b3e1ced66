#!/usr/bin/env bash
# Programs in C and C++ with fzgm_hdf5.h against the HDF5 of the system, shared and static, and under valgrind.
#
#   programs.sh <folder of fzgm_hdf5.h>      HDF5_PLUGIN_PATH names the folder of the plugin
. "$(dirname "$0")/../shell.sh"
include=$(realpath "$1")
cd "$(dirname "$0")/../.."
plugin=$HDF5_PLUGIN_PATH/libh5fzgm.so

exported=$(nm -D --defined-only "$plugin" | awk '{print $3}' | sort | tr '\n' ' ')
[ "$exported" = "H5PLget_plugin_info H5PLget_plugin_type " ] || fail "the plugin exports $exported"
needed=$(readelf -d "$plugin" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
case $needed in *hdf5* | *fzgm* | *cuda* | *stdc++*) fail "the plugin needs $needed" ;; esac
readelf -d "$plugin" | grep -q NODELETE || fail "the plugin could be unmapped"
ok "the plugin exports H5PL* alone and needs $needed"

flags=$(pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5)
libs=$(pkg-config --libs hdf5-serial 2>/dev/null || pkg-config --libs hdf5)
strict=(-O1 -g -Wall -Wextra -Wshadow -Wundef -Werror "${undefined[@]}" -I"$include")
# shellcheck disable=SC2086
{
  cc -std=c99 -D_GNU_SOURCE "${strict[@]}" -Wstrict-prototypes $flags tests/hdf5/filter.c -o "$work/shared" $libs -lm -ldl
  cc -std=c99 -D_GNU_SOURCE "${strict[@]}" -Wstrict-prototypes $flags tests/hdf5/environment.c -o "$work/environment" $libs -lm -ldl
  cc -std=c99 -D_GNU_SOURCE "${strict[@]}" -Wstrict-prototypes $flags tests/hdf5/damage.c -o "$work/damage" $libs -lm -ldl
  echo '#include <fzgm_hdf5.h>' >"$work/alone.cpp"
  c++ -std=c++11 "${strict[@]}" $flags -fsyntax-only "$work/alone.cpp"
}
"$work/shared" write "$work/a.h5"
"$work/shared" explicit "$work/a.h5"
env -u HDF5_PLUGIN_PATH "$work/shared" register "$work/a.h5" "$plugin"
"$work/environment" "$work"
ok "programs, the filter found or registered, in every floating-point environment"
for what in write explicit; do
  valgrind --quiet --error-exitcode=9 "$work/shared" $what "$work/a.h5"
done
"$work/damage" "$work/a.h5" "$plugin" 1
valgrind --quiet --error-exitcode=9 "$work/damage" "$work/a.h5" "$plugin" 41
ok "the same under valgrind; every byte of chunks damaged, some of them under valgrind"

# The library inside the program: the plugin finds its functions only if the program exports them.
archive=$(echo "$libs" | tr ' ' '\n' | sed -n 's/^-L//p' | head -n 1)/libhdf5.a
# The settings of the archive list its libraries; a machine may lack one of them.
rest=$(sed -n 's/ *Extra libraries: *//p' "${archive%.a}.settings" 2>/dev/null || true)
# shellcheck disable=SC2086
if cc -std=c99 -D_GNU_SOURCE "${strict[@]}" $flags tests/hdf5/filter.c -o "$work/static" "$archive" $rest 2>"$work/link.txt"; then
  "$work/static" hidden "$work/b.h5" 2>"$work/said.txt"
  grep -q "fzgm: the 4 cd_values are incomplete" "$work/said.txt" || fail "no word of cd_values that are not complete"
  "$work/static" explicit "$work/b.h5"
  cc -std=c99 -D_GNU_SOURCE "${strict[@]}" $flags -Wl,--export-dynamic tests/hdf5/filter.c -o "$work/exporting" \
    -Wl,--whole-archive "$archive" -Wl,--no-whole-archive $rest
  "$work/exporting" write "$work/b.h5"
  ok "HDF5 linked statically, without its names and with them"
else
  echo "SKIPPED: HDF5 linked statically ($(head -n 1 "$work/link.txt"))"
fi
