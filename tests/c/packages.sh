#!/usr/bin/env bash
# The archives that CPack makes, unpacked and used where there is no Rust; and fzgm inside another project's build.
#
#   tests/c/packages.sh [<cmake build tree>]
. "$(dirname "$0")/../shell.sh"
cd "$(dirname "$0")/../.."
tree=$(realpath "${1:-build/cmake}")
source=$PWD

# An environment without Rust and without variables that name places.
bare() { env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="${libs:-}" PKG_CONFIG_PATH="${libs:+$libs/pkgconfig}" "$@"; }
bare sh -c 'command -v cargo rustc' && printf 'note: there is a Rust in /usr/bin\n'

(cd "$tree" && cpack -G TGZ -B "$work/out" && cpack -G DEB -B "$work/out") >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; fail cpack; }
tarball=$(ls "$work"/out/fzgm-*.tar.gz)
deb=$(ls "$work"/out/fzgm_*.deb)

strict=(-Wall -Wextra -Wpedantic -Werror)
# use <prefix> <name>: a program of twenty lines, shared, static and by CMake, and the command line.
use() {
  local prefix=$1 libs
  libs=$(dirname "$(find "$prefix" -name 'libfzgm.so')")
  bare cc -std=c99 "${strict[@]}" tests/c/twenty.c -I"$prefix/include" -L"$libs" -lfzgm -o "$work/shared"
  bare "$work/shared" >/dev/null
  bare cc -std=c99 "${strict[@]}" tests/c/twenty.c -I"$prefix/include" "$libs/libfzgm.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -o "$work/static"
  (libs="" && bare "$work/static") >/dev/null
  # shellcheck disable=SC2046
  bare cc -std=c99 tests/c/twenty.c $(bare pkg-config --cflags --libs fzgm) -o "$work/by_pkg_config"
  rm -rf "$work/examples"
  bare cmake -S examples -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  bare cmake --build "$work/examples" --target quickstart >/dev/null
  "$work/examples/quickstart" examples/data/egm96.f32 1440 721 >/dev/null
  bare "$prefix/bin/fzgm" --version >/dev/null
  [ -s "$prefix/share/man/man1/fzgm-compress.1" ] && [ -s "$prefix/share/bash-completion/completions/fzgm" ] || fail "no manual page or completion in $2"
  ok "$2: shared, static, pkg-config, find_package and the command line, without Rust"
}

mkdir "$work/opt"
tar -xzf "$tarball" -C "$work/opt"
use "$(echo "$work"/opt/fzgm-*)" "$(basename "$tarball")"

bash tests/c/chroot.sh "$tarball"

mkdir "$work/root"
dpkg-deb -x "$deb" "$work/root"
[ "$(dpkg-deb -f "$deb" Depends)" = "libc6, libgcc-s1" ] || fail "$(dpkg-deb -f "$deb")"
use "$work/root/usr" "$(basename "$deb")"

for component in runtime development tools hdf5; do
  cmake --install "$tree" --component $component --prefix "$work/$component" >/dev/null
done
[ -n "$(find "$work/runtime" -name 'libfzgm.so.*')" ] || fail "no library in component runtime"
[ -z "$(find "$work/runtime" -name '*.h' -o -name libfzgm.so -o -name '*.a')" ] || fail "runtime has what development is for"
[ -e "$work/development/include/fzgm.h" ] && [ -x "$work/tools/bin/fzgm" ] || fail "components are not complete"
[ -n "$(find "$work/hdf5" -name libh5fzgm.so)" ] || fail "no plugin in component hdf5"
(cd "$work" && find runtime development tools hdf5 ! -type d | cut -d / -f 2- | sort) >"$work/parts"
tar -tzf "$tarball" | grep -v '/$' | cut -d / -f 2- | sort >"$work/whole"
diff "$work/parts" "$work/whole" || fail "the components together are not the package"
ok "components runtime, development, tools, and hdf5"

for how in add_subdirectory FetchContent; do
  # One build of the library serves all, because the command line is on here too: without it, crates have other features.
  mkdir -p "$work/$how/fzgm" "$work/$how/_deps/fzgm-build"
  ln -s "$tree/cargo" "$work/$how/fzgm/cargo"
  ln -s "$tree/cargo" "$work/$how/_deps/fzgm-build/cargo"
  cmake -S tests/c/inside -B "$work/$how" -DHOW=$how -DFZGM_SOURCE="$source" -DFZGM_BUILD_CLI=ON -DCMAKE_INSTALL_PREFIX="$work/in" >"$work/inside.log" 2>&1 \
    || { cat "$work/inside.log"; fail "$how does not configure"; }
  cmake --build "$work/$how" >>"$work/inside.log" 2>&1 || { tail -n 40 "$work/inside.log"; fail "$how does not build"; }
  ctest --test-dir "$work/$how" --output-on-failure >/dev/null || fail "$how: a program fails"
  cmake --install "$work/$how" >/dev/null
  [ "$(cd "$work/in" && find . ! -type d)" = ./bin/with_fzgm ] || fail "$how installs files of fzgm"
  ok "$how"
done
