#!/usr/bin/env bash
# Do the tests notice? Puts each bug of tests/seeded_bugs/list.tsv into a copy of the tree and runs test by test until
# one fails. Prints a table of bugs and catchers; fails when a bug is not caught or no longer applies.
#
#   tests/seeded_bugs.sh [name…]       all bugs, or those named; a minute or two for each
#   tests/seeded_bugs.sh --apply       runs nothing: prints the bugs that no longer change their file
#   RESUME=1 tests/seeded_bugs.sh      continues an interrupted run: bugs that were caught are not tried again
set -euo pipefail
cd "$(dirname "$0")/.."
list=tests/seeded_bugs/list.tsv
# bug <name> <file> <program>: prints the file with the bug; fails if the bug changes nothing. If the file has the marker `// seed: <name>`, the
# program is applied only to the lines that end with the marker, or to the line behind a marker that has a line of its own.
bug() {
  local program=$3
  [ -e "$2" ] || return 1
  ! grep -q " seed: $1\$" "$2" || program="/ seed: $1\$/{ /^ *\\/\\/ seed:/n"$'\n'" $3"$'\n}'
  sed "$program" "$2" && ! sed "$program" "$2" | cmp -s - "$2"
}
# The places of the markers: a bug with a marker applies there, even if the list names another file.
declare -A marked=()
while IFS=: read -r file name; do marked[$name]=$file; done < <(grep -roE ' seed: [a-z0-9-]+$' src cli libfzgm hdf5-filter kernels | sed 's/ seed: //')
# The bugs that are asked for.
chosen() {
  local name file program
  while IFS=$'\t' read -r name file program; do
    [[ $name == \#* || -z $name ]] && continue
    [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
    printf '%s\t%s\t%s\n' "$name" "${marked[$name]:-$file}" "$program"
  done <"$list"
}
only=("$@")
if [ "$*" = --apply ]; then
  only=() missed=0
  while IFS=$'\t' read -r name file program; do
    bug "$name" "$file" "$program" >/dev/null || { echo "bug $name of $list does not apply to $file" >&2; missed=1; }
  done < <(chosen)
  for name in "${!marked[@]}"; do
    grep -q "^$name	" "$list" || { echo "marker \"seed: $name\" in ${marked[$name]} has no row in $list" >&2; missed=1; }
  done
  exit $missed
fi
work=${SEEDED_BUGS_DIR:-$PWD/build/seeded-bugs}
tree=$work/tree
caught=$work/caught # name and catcher, tabs between them
export CARGO_TARGET_DIR=${SEEDED_BUGS_TARGET:-$work/target} PROPTEST_RNG_SEED=1
# These programs are never debugged: no lines for a debugger, and below no libraries for C.
export CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0
# Programs and modules of tests, quick ones first: most bugs fall to the first two.
tests=("it bound" "it recompression" "it lorenzo" "it centering" "it fast" "it ginterp" "counted boxes" "it golden" "it vectors" "it coders" "it contract"
  "it difference" "counted corrupt" "it parameters" "it notation" "it environment" "it pipelines" "counted memory" "it regressions" threads
  "it reference_reader")

mkdir -p "$tree"
[ -n "${RESUME:-}" ] || : >"$caught"
touch "$caught"
# Files are as new as the copy: cargo takes an older file for one that it has compiled already.
copy() { git ls-files -z src cli libfzgm hdf5-filter kernels scripts presets docs tests Cargo.toml Cargo.lock build.rs include examples cbindgen.toml \
  | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done \
  | tar --null -T - -cf - | tar -C "$tree" -xmf -; }
copy

# one <program> [<module>]: runs a test program, or a module of it; true if it fails, of which $log has the text. $limit: seconds.
one() {
  local filter=()
  [ -z "${2:-}" ] || filter=(-- "$2::")
  ! (cd "$tree" && timeout "${limit:-300}" cargo test --quiet "${features[@]}" --test "$1" "${filter[@]}") >"$log" 2>&1
}
# found: the test that has failed.
found() { grep -oE "^test [a-z0-9_:]+ \.\.\. FAILED|^    [a-z0-9_:]+$" "$log" | head -n 1 | sed 's/^test //; s/ \.\.\. FAILED//; s/^ *//'; }
# first_of <test>…: runs the tests one by one; prints the first that fails, with its output.
first_of() {
  local t log=$work/log
  for t in "$@"; do
    # shellcheck disable=SC2086 # A program and a module.
    one $t || continue
    if grep -qE "^error(\[|: could not compile)" "$log"; then echo "DOES NOT COMPILE"; else printf '%s: %s\n' "$t" "$(found)"; fi
    return
  done
}

# suite <file>: the command line and the C border have tests of their own.
suite() {
  local features=(--no-default-features) tests=("${tests[@]}")
  case $1 in
    cli/* | src/file/slabs/*) tests=(cli) features=(-p fzgm-cli) ;;
    src/capi/*) tests=(calls abi) features+=(--features capi) ;;
  esac
  first_of "${tests[@]}"
}

# on_device <test>…: for bugs in kernels and in code that calls the driver, on the emulator. For kernels the programs do not change, and the driver is built again.
on_device() {
  local features=() limit=900
  if ! (cd "$tree" && tests/emu/build.sh plain) >"$work/log" 2>&1; then echo "DOES NOT COMPILE"; return; fi
  export FZGM_CUDA=emulated FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH=build/emu
  first_of "$@"
}
# judge <file>: what notices.
judge() {
  case $1 in
    kernels/*) (on_device "it coders" "it pipelines" "it fast" "it lorenzo" "it bins" "it header_bounds" "it cuda") ;;
    src/gpu/* | src/codec/device/*) (export FZ_EMU_DEFER=1 && on_device cuda_faults cuda_calls "it cuda") ;;
    *) suite "$1" ;;
  esac
}
echo "| bug | caught by |"
echo "|---|---|"
judge_once() { # <name> <file>: what notices, or what has noticed it in the run before
  awk -F '\t' -v name="$1" '$1 == name { print $2; found = 1; exit } END { exit !found }' "$caught" || judge "$2"
}
keep() { printf '%s\t%s\n' "$1" "$2" >>"$caught"; }
# kind <file>: what has tests in common with it.
kind() {
  case $1 in
    kernels/*) echo kernels/ ;;
    src/gpu/* | src/codec/device/*) echo src/gpu/ ;;
    cli/* | src/file/slabs/*) echo cli/ ;;
    src/capi/*) echo src/capi/ ;;
    *) echo src/ ;;
  esac
}
for kind in $(chosen | cut -f2 | while read -r file; do kind "$file"; done | sort -u); do
  clean=$(judge_once "none in $kind" $kind)
  [ -z "$clean" ] || { echo "without any bug, this fails: $clean" >&2; exit 1; }
  keep "none in $kind" ""
done
missed=0
while IFS=$'\t' read -r name file program; do
  if ! bug "$name" "$file" "$program" >"$work/bug"; then
    catcher="DOES NOT APPLY"
  else
    cp "$work/bug" "$tree/$file"
    catcher=$(judge_once "$name" "$file")
    cp "$file" "$tree/$file"
  fi
  case $catcher in "" | DOES*) missed=$((missed + 1)) ;; *) keep "$name" "$catcher" ;; esac
  echo "| $name | ${catcher:-NOTHING} |"
done < <(chosen)
[ $missed = 0 ] || { echo "$missed bugs are not caught" >&2; exit 1; }
