#!/usr/bin/env bash
# Requirements on an installed fzgm, by all its users: the linker, the loader, pkg-config, CMake, a packager.
#
#   tests/c/package.sh <prefix> [<cmake build tree>]
. "$(dirname "$0")/../shell.sh"
cd "$(dirname "$0")/../.."
prefix=$(realpath "$1")
tree=$(realpath "${2:-build/cmake}")

lib=$(dirname "$(find "$prefix" -name libfzgm.so)")
header=$prefix/include/fzgm.h
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
abi=$(sed -n 's/^#define FZ_ABI_VERSION //p' "$header")

soname=$(readelf -d "$lib/libfzgm.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "libfzgm.so.$abi" ] || fail "SONAME is $soname, the header says ABI $abi"
[ "$(readlink "$lib/libfzgm.so")" = "$soname" ] || fail "libfzgm.so is not a link to $soname"
[ "$(readlink "$lib/$soname")" = "libfzgm.so.$version" ] || fail "$soname is not a link to libfzgm.so.$version"
ok "libfzgm.so -> $soname -> libfzgm.so.$version"

needed=$(readelf -d "$lib/libfzgm.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
case $needed in *cuda* | *hdf5* | *stdc++*) fail "libfzgm.so needs $needed" ;; esac
ok "libfzgm.so needs only $needed"

# Declarations start a line; comments never start with a letter.
sed -nE 's/^[A-Za-z][^(]*\b(fz_[a-z0-9_]+)\(.*/\1/p' "$header" | sort -u >"$work/declared"
nm -D --defined-only "$lib/libfzgm.so" | awk '{print $3}' | sort -u >"$work/exported"
diff "$work/declared" "$work/exported" || fail "libfzgm.so exports other symbols than fzgm.h declares"
ok "libfzgm.so exports the $(wc -l <"$work/declared") functions of fzgm.h and nothing else"

if [ -z "${RUSTFLAGS:-}" ]; then
  crates=${CARGO_HOME:-$HOME/.cargo}/registry
  for file in "$lib/libfzgm.so" "$lib/libfzgm.a" "$prefix/bin/fzgm"; do
    ! grep -qF "$crates" "$file" || fail "$file names files in $crates"
  done
  ok "no file names the folder of cargo's crates"
fi

static=$(nm -g --defined-only "$lib/libfzgm.a" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u)
if diff <(echo "$static") "$work/declared" >/dev/null; then
  ok "libfzgm.a has no other global names ($(($(stat -c %s "$lib/libfzgm.a") / 1024)) KiB)"
else
  grep -q 'installed as cargo made it' build/*.log 2>/dev/null || echo "note: libfzgm.a is as cargo made it"
fi

echo '#include <fzgm.h>' >"$work/alone.c"
strict=(-Wall -Wextra -Wpedantic -Werror -Wundef -Wshadow -I"$prefix/include" -fsyntax-only)
for std in c99 c11 c17 c2x; do cc -std=$std "${strict[@]}" -Wstrict-prototypes -Wmissing-prototypes "$work/alone.c"; done
for std in c++11 c++14 c++17 c++20; do c++ -x c++ -std=$std "${strict[@]}" "$work/alone.c"; done
ok "fzgm.h compiles alone as C99 to C23 and C++11 to C++20"
# The C compiler's view of what tests/abi has frozen.
{
  printf '#include <fzgm.h>\n#include <stddef.h>\n#define FROZEN(what) _Static_assert(what, #what)\n'
  sed -nE 's/^value (.*) = (.*)/FROZEN(\1 == \2);/p; s/^struct (.*) (.*)/FROZEN(sizeof(\1) == \2);/p
           s/^field (.*) (.*) (.*)/FROZEN(offsetof(\1, \2) == \3);/p; s/^function (.*)/\1;/p' tests/abi/frozen.txt
} >"$work/frozen.c"
cc -std=c11 -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/frozen.c"
ok "$(wc -l <tests/abi/frozen.txt) numbers, offsets and prototypes are as tests/abi/frozen.txt has them"
echo '#include <fzgm.hpp>' >"$work/alone.c"
for std in c++17 c++20 c++23; do
  c++ -x c++ -std=$std "${strict[@]}" -Wconversion -Wsign-conversion "$work/alone.c"
  c++ -x c++ -std=$std "${strict[@]}" -Wconversion -fno-exceptions "$work/alone.c"
done
ok "fzgm.hpp compiles alone as C++17 to C++23, with exceptions and without"

# The tree may be moved: everything in it is found relative to itself.
cp -a "$prefix" "$work/moved"
export PKG_CONFIG_PATH=$work/moved/${lib#"$prefix"/}/pkgconfig
[ "$(pkg-config --modversion fzgm)" = "$version" ] || fail "pkg-config says $(pkg-config --modversion fzgm)"
# shellcheck disable=SC2046
cc -std=c11 examples/quickstart.c -o "$work/by_pkg_config" $(pkg-config --cflags --libs fzgm) -lm
LD_LIBRARY_PATH=$work/moved/${lib#"$prefix"/} "$work/by_pkg_config" examples/data/egm96.f32 1440 721 >/dev/null
# shellcheck disable=SC2046
cc -std=c11 examples/quickstart.c -o "$work/by_pkg_config_static" $(pkg-config --cflags fzgm) \
  "$work/moved/${lib#"$prefix"/}/libfzgm.a" $(pkg-config --static --libs-only-l fzgm | sed 's/-lfzgm//') -lm
"$work/by_pkg_config_static" examples/data/egm96.f32 1440 721 >/dev/null
ok "pkg-config, shared and static, from a moved prefix"
cmake -S examples -B "$work/examples" -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
cmake --build "$work/examples" >/dev/null
"$work/examples/quickstart" examples/data/egm96.f32 1440 721 >/dev/null
"$work/examples/graph" examples/data/egm96.f32 1440 721 >/dev/null
"$work/examples/quickstart_cpp" examples/data/egm96.f32 1440 721 >/dev/null
"$work/examples/quickstart_f90" examples/data/egm96.f32 1440 721 >/dev/null
ok "find_package from a moved prefix"

# While the version is 0.x, another minor version is another interface.
minor=$(echo "$version" | cut -d . -f 2)
asks() {
  mkdir -p "$work/asks"
  printf 'cmake_minimum_required(VERSION 3.18)\nproject(asks LANGUAGES C)\nfind_package(fzgm %s REQUIRED COMPONENTS %s)\n' "$1" "$2" >"$work/asks/CMakeLists.txt"
  rm -rf "$work/asks/b"
  cmake -S "$work/asks" -B "$work/asks/b" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null 2>&1
}
asks "0.$minor" shared || fail "find_package(fzgm 0.$minor) is refused"
asks "0.$((minor + 1))" shared && fail "find_package(fzgm 0.$((minor + 1))) is accepted"
asks 1.0 shared && fail "find_package(fzgm 1.0) is accepted"
asks "0.$minor" no_such_component && fail "a component that does not exist is accepted"
ok "find_package takes 0.$minor and refuses others"

DESTDIR=$work/dest cmake --install "$tree" >/dev/null
(cd "$prefix" && find . ! -type d | sort) >"$work/here"
(cd "$work/dest$prefix" && find . ! -type d | sort) >"$work/there"
diff "$work/here" "$work/there" || fail "DESTDIR installs other files"
DESTDIR=$work/dest cmake --build "$tree" --target uninstall >/dev/null
[ -z "$(find "$work/dest" ! -type d)" ] || fail "uninstall leaves $(find "$work/dest" ! -type d)"
cmake --install "$tree" >/dev/null
ok "DESTDIR and uninstall"

"$prefix/bin/fzgm" --version | grep -qF "$version" || fail "fzgm --version says $("$prefix/bin/fzgm" --version)"
ok "$("$prefix/bin/fzgm" --version)"
