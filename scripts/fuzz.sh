#!/usr/bin/env bash
# Fuzzing guided by coverage: the targets of fuzz/ under AddressSanitizer, with overflow checks and debug assertions.
#
#   scripts/fuzz.sh [target…]      each of them, or those named, for FUZZ_SECONDS (300), one after the other
#
# A target begins with its seeds in build/fuzz/seeds, which `scripts/test.sh fuzz` writes, and with what runs before have found. Inputs on
# which it fails are kept in build/fuzz/failures; `build/fuzz/<host>/release/<target> <file>` runs one again.
. "$(dirname "$0")/lib.sh"
need_c
need_rust
out=$root/build/fuzz
seconds=${FUZZ_SECONDS:-300}
fuzzer=$root/build/cargo-fuzz/bin/cargo-fuzz
# The same setting as cargo-fuzz, because crates give statics equal names.
export ASAN_OPTIONS=detect_odr_violation=0 RUST_BACKTRACE=1
# Files that a target writes need not reach a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm

[ -x "$fuzzer" ] || cargo install --quiet --locked --root "$root/build/cargo-fuzz" cargo-fuzz
# rustc has sanitizers in its nightly form alone.
RUSTC_BOOTSTRAP=1 "$fuzzer" fuzz build --codegen-units 16 --target-dir "$out" 2>"$out.log" || { cat "$out.log" >&2; die "the fuzz targets do not compile"; }
bin=$out/$(rustc -vV | sed -n 's/^host: //p')/release

# Texts and files that the repository has.
mkdir -p "$out"/seeds/{notation,decode,header}
for file in presets/*.toml presets/research/*.toml tests/golden/*.toml tests/notation/*.toml; do cp "$file" "$out/seeds/notation/${file//\//-}"; done
for target in decode header; do cp tests/golden/*.fzm "$out/seeds/$target/"; done

# longest <target>: bytes of an input.
longest() { case $1 in calls) echo 1000 ;; notation) echo 4000 ;; *) echo 20000 ;; esac; }

# fuzz <target>: one line of what was done.
fuzz() {
  local target=$1 log=$out/$1.log started=$SECONDS folders=("$out/corpus/$1") status=0
  mkdir -p "$out/corpus/$target" "$out/failures"
  [ ! -d "$out/seeds/$target" ] || folders+=("$out/seeds/$target")
  "$bin/$target" "${folders[@]}" -max_total_time="$seconds" -max_len="$(longest "$target")" -timeout=20 -rss_limit_mb=2500 \
    -print_final_stats=1 -artifact_prefix="$out/failures/$target-" >"$log" 2>&1 || status=$?
  printf '%-10s %s executions, %s edges covered, %s s%s\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" \
    "$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1 | cut -c6-)" $((SECONDS - started)) "$([ $status = 0 ] || echo ', FAILS')"
  [ $status = 0 ] || { grep -aE -m 1 -A 12 'panicked at|ERROR: |SUMMARY' "$log" >&2; grep -a 'Test unit written' "$log" >&2; return 1; }
}

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml | tail -n +2)
failed=0
for target in "${targets[@]}"; do fuzz "$target" || failed=1; done
exit $failed
