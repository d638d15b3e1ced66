#!/usr/bin/env bash
# A program of twenty lines built and run where there is nothing but gcc, libc and an unpacked archive of fzgm: a root of their files alone.
#
#   tests/c/chroot.sh <archive.tar.gz>
. "$(dirname "$0")/../shell.sh"
cd "$(dirname "$0")/../.."
archive=$(realpath "$1")

skip() { printf 'SKIPPED: a clean root (%s)\n' "$*"; exit 0; }
[ "$(id -u)" = 0 ] && chroot / true 2>/dev/null || skip "chroot takes root"
command -v dpkg-query >/dev/null && dpkg-query -W gcc libc6-dev >/dev/null 2>&1 || skip "dpkg knows the files of gcc and libc"

# The packages of gcc and libc, with those that they depend on; of alternatives the one that is there.
declare -A taken=()
queue=(gcc libc6-dev)
while [ ${#queue[@]} -gt 0 ]; do
  package=${queue[0]}
  queue=("${queue[@]:1}")
  [ -z "${taken[$package]:-}" ] && dpkg-query -W "$package" >/dev/null 2>&1 || continue
  taken[$package]=1
  mapfile -t -O ${#queue[@]} queue < <(dpkg-query -W -f='${Pre-Depends},${Depends}\n' "$package" | tr ',|' '\n\n' | sed 's/(.*//; s/:any//; s/ //g; /^$/d')
done

root=$work/root
mkdir -p "$root/usr/lib" "$root/usr/lib64" "$root/usr/bin" "$root/usr/sbin" "$root/tmp" "$root/opt"
for link in lib lib64 bin sbin; do [ -L "/$link" ] && ln -s "usr/$link" "$root/$link"; done
dpkg -L "${!taken[@]}" | sort -u | while read -r file; do
  case $file in /usr/share/*) continue ;; esac
  if [ -L "$file" ] || [ -f "$file" ]; then echo "${file#/}"; fi
done >"$work/files"
tar -C / -cf - --no-recursion -T "$work/files" 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink
tar -C "$root/opt" -xzf "$archive"
mv "$root"/opt/fzgm-* "$root/opt/fzgm"
cp tests/c/twenty.c tests/c/files.c tests/c/check.h "$root/tmp/"

# No program that could build or replace the library is there.
[ -z "$(find "$root" -name 'cargo*' -o -name 'rustc*' -o -name 'libcuda*' -o -name 'libstd-*.so')" ] || fail "the root is not clean"
libs=$(cd "$root" && find opt/fzgm -name libfzgm.so -exec dirname {} \;)
strict=(-std=c99 -Wall -Wextra -Wpedantic -Werror -I/opt/fzgm/include)
inside() { env -i PATH=/usr/bin:/usr/sbin chroot "$root" "$@"; }
for program in twenty files; do
  inside gcc "${strict[@]}" "/tmp/$program.c" "-L/$libs" -lfzgm "-Wl,-rpath,/$libs" -lm -o "/tmp/$program-shared"
  inside gcc "${strict[@]}" "/tmp/$program.c" "/$libs/libfzgm.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -o "/tmp/$program-static"
done
inside /tmp/twenty-shared >/dev/null
inside /tmp/twenty-static >/dev/null
# Paths that files.c needs besides files.
mkdir -p "$root/dev" && mknod "$root/dev/null" c 1 3
inside /tmp/files-shared >/dev/null
inside /tmp/files-static >/dev/null
inside /opt/fzgm/bin/fzgm --version >/dev/null
ok "a root of ${#taken[@]} packages around gcc and libc, $(du -sm "$root" | cut -f 1) MB: shared, static and the command line"
