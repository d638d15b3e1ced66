#!/usr/bin/env bash
# Do the tests notice? Puts each bug of tests/seeded_bugs/list.tsv into a copy of the tree and runs test by test until
# one fails. Prints a table of bugs and catchers; fails when a bug is not caught or no longer applies.
#
#   tests/seeded_bugs.sh [name…]       all bugs, or those named; a minute or two for each
#   tests/seeded_bugs.sh --apply       runs nothing: says which bugs no longer change their file
#   RESUME=1 tests/seeded_bugs.sh      goes on where a run that was cut off has ended: bugs that were caught are not tried again
set -euo pipefail
cd "$(dirname "$0")/.."
list=tests/seeded_bugs/list.tsv
# bug <file> <program>: the file with the bug, if there is one.
bug() { [ -e "$1" ] && sed "$2" "$1" && ! sed "$2" "$1" | cmp -s - "$1"; }
# The bugs that are asked for.
chosen() {
  local name file program
  while IFS=$'\t' read -r name file program; do
    [[ $name == \#* || -z $name ]] && continue
    [ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
    printf '%s\t%s\t%s\n' "$name" "$file" "$program"
  done <"$list"
}
only=("$@")
if [ "$*" = --apply ]; then
  only=() missed=0
  while IFS=$'\t' read -r name file program; do
    bug "$file" "$program" >/dev/null || { echo "bug $name of $list does not apply to $file" >&2; missed=1; }
  done < <(chosen)
  exit $missed
fi
work=${SEEDED_BUGS_DIR:-$PWD/build/seeded-bugs}
tree=$work/tree
caught=$work/caught # name and catcher, tabs between them
export CARGO_TARGET_DIR=${SEEDED_BUGS_TARGET:-$work/target} PROPTEST_RNG_SEED=1
# Nobody looks at these programs: no lines for a debugger, and below no libraries for C.
export CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0
# Quick ones first: most bugs fall to the first two.
tests=(bound again lorenzo centering fast boxes golden vectors coders contract corrupt parameters notation environment pipelines memory regressions threads reference_reader)

mkdir -p "$tree"
[ -n "${RESUME:-}" ] || : >"$caught"
touch "$caught"
# Files are as new as the copy: cargo takes an older file for one that it has compiled already.
copy() { git ls-files -z src libfzgm hdf5-filter kernels scripts presets docs tests Cargo.toml Cargo.lock build.rs include examples cbindgen.toml \
  | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done \
  | tar --null -T - -cf - | tar -C "$tree" -xmf -; }
copy

# suite <file>: runs the tests one by one; prints the first that fails, with what it says. The command line and the C border have tests of their own.
suite() {
  local t log=$work/log tests=("${tests[@]}") features=()
  case $1 in
    src/bin/*) tests=(cli) features=(--features cli) ;;
    src/capi/*) tests=(calls abi) features=(--features capi) ;;
  esac
  for t in "${tests[@]}"; do
    if ! (cd "$tree" && timeout 300 cargo test --quiet --no-default-features "${features[@]}" --test "$t") >"$log" 2>&1; then
      if grep -qE "^error(\[|: could not compile)" "$log"; then echo "DOES NOT COMPILE"; return; fi
      printf '%s: %s\n' "$t" "$(grep -oE "^test [a-z0-9_:]+ \.\.\. FAILED|^    [a-z0-9_:]+$" "$log" | head -n 1 | sed 's/^test //; s/ \.\.\. FAILED//; s/^ *//')"
      return
    fi
  done
}

# on_device: the same for bugs in kernels, on the emulator. The programs stay as they are, the driver is made anew.
on_device() {
  local t log=$work/log
  if ! (cd "$tree" && tests/emu/build.sh plain) >"$log" 2>&1; then echo "DOES NOT COMPILE"; return; fi
  for t in coders pipelines cuda; do
    (cd "$tree" && FZGM_CUDA=emulated FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH=build/emu timeout 900 cargo test --quiet --test $t) >"$log" 2>&1 && continue
    printf '%s: %s\n' "$t" "$(grep -oE "^    [a-z0-9_:]+$" "$log" | head -n 1 | sed 's/^ *//')"
    return
  done
}
# before_device: the same for bugs in code that calls the driver, on the emulator with deferred streams.
before_device() {
  local t log=$work/log
  if ! (cd "$tree" && tests/emu/build.sh plain) >"$log" 2>&1; then echo "DOES NOT COMPILE"; return; fi
  for t in cuda_faults cuda_calls cuda; do
    (cd "$tree" && FZGM_CUDA=emulated FZGM_REQUIRE_GPU=1 FZ_EMU_DEFER=1 LD_LIBRARY_PATH=build/emu timeout 900 cargo test --quiet --test $t) >"$log" 2>&1 && continue
    printf '%s: %s\n' "$t" "$(grep -oE "^    [a-z0-9_:]+$" "$log" | head -n 1 | sed 's/^ *//')"
    return
  done
}
# judge <file>: what notices.
judge() { case $1 in kernels/*) on_device ;; src/gpu/* | src/codec/device/*) before_device ;; *) suite "$1" ;; esac; }
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
    src/bin/* | src/capi/*) echo "${1%"${1#src/*/}"}" ;;
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
  if ! bug "$file" "$program" >"$work/bug"; then
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
