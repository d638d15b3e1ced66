#!/usr/bin/env bash
# Sets up what is missing and runs the tests.
#
#   scripts/test.sh                    the parts rust, emu, c, golden, python and hdf5
#   scripts/test.sh <part>…            rust | emu | c | golden | python | hdf5 | long | fuzz | tsan |
#                                      aarch64 | musl | deny
. "$(dirname "$0")/lib.sh"
parts=(rust emu c golden python hdf5)
all_parts=("${parts[@]}" long fuzz tsan aarch64 musl deny)
mkdir -p build

# Format, lints, tests, documentation. The tests run optimised with debug assertions: [profile.test] in Cargo.toml.
part_rust() {
  need_c
  need_rust
  need_nvcc
  # A macro names the modules of stages, into which cargo fmt does not look.
  if rust_tool fmt rustfmt; then
    cargo fmt --all -- --check
    find src/stages -name '*.rs' -exec rustfmt --edition 2024 --check {} +
  fi
  tests/seeded_bugs.sh --apply
  if rust_tool clippy clippy; then
    cargo clippy --quiet --locked --workspace -- -D warnings
    # A test says by a panic that it fails.
    cargo clippy --quiet --locked --workspace --all-targets -- -D warnings -A clippy::expect_used -A clippy::unwrap_used -A clippy::panic
  fi
  cargo test --quiet --locked --workspace
  RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --no-deps --workspace
}

# rust_tool <subcommand> <component>: is it there, or can rustup bring it? A compiler from a distribution may lack it.
rust_tool() {
  cargo "$1" --version >/dev/null 2>&1 && return 0
  has rustup && rustup component add "$2" >/dev/null 2>&1 && return 0
  printf 'SKIPPED: cargo %s (this Rust has no %s)\n' "$1" "$2"
  return 1
}

# The CUDA backend without a GPU: its kernels on the emulator, and before that the emulator itself.
part_emu() {
  need_c
  need objcopy binutils
  need_rust
  need_nvcc
  local kind
  for kind in plain asan; do bash tests/emu/build.sh $kind; done
  bash tests/emu/selftest.sh
  # Both backends over everything that the contract tests make, and what only a device does in every mode. The longest first.
  # With sanitizers threads go forward as well.
  on_emulator 'it asan cuda::' 'it ORDER=fwd contract::' 'it ORDER=rev cuda::' 'it ORDER=20,DEFER=1 cuda::' 'it ORDER=rev,DEFER=1 campaign::' \
    'it ORDER=rev pipelines::' 'it ORDER=rev coders::' 'it asan coders::' 'cli ORDER=fwd' 'it ORDER=fwd recompression::' 'cuda_calls ORDER=fwd' \
    'cuda_calls DEFER=1' 'cuda_faults DEFER=1' 'it ORDER=fwd fields::a_corner'
  c_on_emulator
}

# debug_build <what…>: without optimisation, for programs in other languages, into $debug_output. Not where the tests are built: cargo has one
# place for a library in each folder, and would make it again whenever the profile changes.
debug_output=$PWD/build/debug/debug
debug_build() { CARGO_TARGET_DIR=$PWD/build/debug cargo build --quiet --locked --no-default-features "$@"; }

# tests/c/cuda.c as a program of a user, in the modes of the emulator and under sanitizers; and where GPUs are switched off
# while the driver is there.
c_on_emulator() {
  local kind mode libraries=(-lgcc_s -lutil -lrt -lpthread -lm -ldl) out=$PWD/build/emu-c
  mkdir -p "$out"
  debug_build -p libfzgm --features cuda
  for kind in plain sanitize; do
    local flags=(-std=c99 -g -O1 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Werror -Iinclude)
    [ $kind = plain ] || flags+=(-fsanitize=address,undefined -fno-sanitize-recover=all)
    cc "${flags[@]}" tests/c/cuda.c "$debug_output/libfzgm.a" "${libraries[@]}" -o "$out/cuda-$kind"
    for mode in ORDER=fwd ORDER=rev DEFER=1; do
      say "tests/c/cuda.c on the emulator, $kind, $mode"
      env FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu" "FZ_EMU_$mode" ASAN_OPTIONS=detect_leaks=0 "$out/cuda-$kind"
    done
    env FZGM_DISABLE_CUDA=1 LD_LIBRARY_PATH="$PWD/build/emu" ASAN_OPTIONS=detect_leaks=0 "$out/cuda-$kind"
  done
  local toolkit
  toolkit=$(find .nvcc "${CUDA_HOME:-/usr/local/cuda}/" -name cuda_runtime.h -path '*include*' -print -quit 2>/dev/null || true)
  if [ -n "$toolkit" ]; then
    # It runs on a GPU alone: the CUDA runtime asks more of a driver than the emulator has.
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -isystem "$(dirname "$toolkit")" -fsyntax-only examples/compress_cuda.c
    say "examples/compress_cuda.c compiles"
  else
    say "SKIPPED: examples/compress_cuda.c (no cuda_runtime.h)"
  fi
}

# on_emulator '<program> <mode> [<name>]'…: the program tests/<program>, or its tests of that name, as many at a time as there are processors. ORDER=fwd,
# rev or a number are orders of threads; with DEFER=1 streams run as late as they may; commas join the two. asan has sanitizers in the kernels.
on_emulator() {
  local run test mode name logs=$PWD/build/emu-logs tests=() busy=0 failed=0
  mkdir -p "$logs"
  for test in $(printf '%s\n' "${@%% *}" | sort -u); do tests+=(--test "$test"); done
  # One call for all of them: what they have in common is compiled once, and the rest beside each other.
  cargo test --locked --workspace --no-run "${tests[@]}" >"$logs/build" 2>&1 || { cat "$logs/build" >&2; return 1; }
  for run in "$@"; do
    read -r test mode name <<<"$run"
    [ $busy -lt "$(nproc)" ] || { wait -n || failed=1; busy=$((busy - 1)); }
    one_on_emulator "$logs" "$test" "$mode" "$name" &
    busy=$((busy + 1))
  done
  for (( ; busy > 0; busy--)); do wait -n || failed=1; done
  return $failed
}

# one_on_emulator <folder of logs> <program> <mode> <name>
one_on_emulator() {
  local program mode log=$1/$2-$3-${4%%:*} started=$SECONDS set=(FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu") # absolute: a test may change folders
  program=$(sed -nE "s#^ *Executable tests/$2(\.rs|/main\.rs) \((.*)\)\$#\2#p" "$1/build")
  [ -n "$program" ] || { echo "cargo does not say where tests/$2 is" >&2; return 1; }
  case $3 in
    asan) set=(FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu-asan" LD_PRELOAD="$(g++ -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0) ;;
    *) for mode in ${3//,/ }; do set+=("FZ_EMU_$mode"); done ;;
  esac
  if env "${set[@]}" "$program" --quiet ${4:+"$4"} >"$log" 2>&1; then
    say "$2 $4 on the emulator, $3: $((SECONDS - started)) s"
  else
    say "$2 $4 on the emulator, $3, FAILS"
    cat "$log"
    return 1
  fi
}

# The library as programs in C, C++ and Fortran see it: installed, found, linked, abused, under sanitizers and valgrind. Built as a user builds it,
# without what the part before has set: scripts/demo.sh, for which one variable more is another build, finds it made.
part_c() (
  [ -z "${need_nvcc_set_it:-}" ] || unset FZGM_CUDA
  need_c
  need_rust
  need valgrind valgrind pkg-config pkg-config readelf binutils gfortran gfortran dpkg-deb dpkg
  local prefix=$PWD/build/install
  install_fzgm "$prefix"
  bash tests/c/package.sh "$prefix"
  bash tests/c/packages.sh
  bash tests/c/snippets/run.sh "$prefix"

  local kind
  for kind in plain sanitize; do
    say "programs in C, C++ and Fortran, $kind"
    cmake -S tests/c -B "build/c-$kind" -DCMAKE_PREFIX_PATH="$prefix" -DSANITIZE=$([ $kind = sanitize ] && echo ON || echo OFF) \
      >"build/c-$kind.log" 2>&1 || { cat "build/c-$kind.log" >&2; return 1; }
    cmake --build "build/c-$kind" -j "$(nproc)" >>"build/c-$kind.log" 2>&1 || { tail -n 40 "build/c-$kind.log" >&2; return 1; }
    ctest --test-dir "build/c-$kind" --output-on-failure -j "$(nproc)"
  done
  say "the same programs under valgrind"
  local program leaks
  while read -r program; do
    # What a driver leaves behind is not for us to judge.
    [[ $program == */cuda_* ]] && ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && continue
    printf '%s: ' "$(basename "$program")"
    leaks=full
    [[ $program == *fork* ]] && leaks=no # a child cannot free what the threads of its parent held
    valgrind --quiet --error-exitcode=9 --leak-check=$leaks --show-leak-kinds=all --errors-for-leak-kinds=all \
      --suppressions=tests/c/valgrind.supp "$program"
  done < <(find build/c-plain -maxdepth 1 -type f -perm -u+x -name '*_shared' ! -name 'stack_*' ! -name 'memory_*' ! -name 'environment_*' | sort)
  # Valgrind forgets what a stack held, has a malloc of its own, and computes in the default floating-point environment alone.
)

# Containers written by the reference implementation, restored and written again byte for byte.
part_golden() {
  need_c
  need_rust
  cargo test --quiet --locked --workspace --test golden
}

# The independent decoder in Python, against the same containers; the recipes for Spack and conda; tables and picture of stage fast.
part_python() {
  need python3 python3
  python3 -c 'import jinja2, yaml' 2>/dev/null || packages python3-jinja2 python3-yaml # as the recipes are written
  python3 -m unittest discover -s tests/reference -t tests/reference
  python3 -m unittest discover -s tests/packaging -t tests/packaging
  python3 -m unittest discover -s tests/figures -t tests/figures
}

# The filter plugin in other people's programs: Python, the tools of HDF5, netCDF, MPI, C, Fortran. With the checks of a debug build, and for the CPU
# alone, as cargo builds it by default; then for GPUs, on the emulator.
part_hdf5() {
  need_c
  need_rust
  need h5dump hdf5-tools nccopy netcdf-bin nc-config libnetcdf-dev mpirun openmpi-bin mpicc libopenmpi-dev pkg-config pkg-config readelf binutils valgrind valgrind gfortran gfortran objcopy binutils python3 python3
  pkg-config --exists hdf5-serial || packages libhdf5-dev
  pkg-config --exists hdf5-openmpi || packages libhdf5-openmpi-dev
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages python3-venv
  local python=$PWD/build/hdf5-venv/bin/python folder=$PWD/build/hdf5-plugin
  if ! "$python" -c 'import h5py, netCDF4' 2>/dev/null; then
    python3 -m venv build/hdf5-venv
    "$python" -m pip install --quiet h5py numpy netCDF4
  fi
  say "the plugin's declarations and those of hdf5-metno-sys"
  CARGO_TARGET_DIR=$PWD/build/signatures cargo check --quiet --locked --manifest-path tests/hdf5/signatures/Cargo.toml
  debug_build -p fzgm-hdf5
  mkdir -p "$folder"
  cp "$debug_output/libh5fzgm.so" "$folder/"
  export HDF5_PLUGIN_PATH=$folder
  say "the filter in h5py"
  export PYTHONPATH=$PWD/hdf5-filter/python
  "$python" tests/hdf5/test_h5py.py
  say "the filter in h5repack, h5dump, netCDF, parallel HDF5 and programs in C"
  bash tests/hdf5/tools.sh "$python"
  bash tests/hdf5/netcdf.sh "$python"
  bash tests/hdf5/parallel.sh "$python" hdf5-filter
  bash tests/hdf5/programs.sh hdf5-filter
  say "the filter on a GPU, chunks from its memory, and the examples"
  need_nvcc
  bash tests/emu/build.sh plain
  debug_build -p libfzgm --features cuda
  debug_build -p fzgm-hdf5 --features cuda
  mkdir -p "$folder-cuda"
  cp "$debug_output/libh5fzgm.so" "$folder-cuda/"
  local library=$debug_output/libfzgm.a
  HDF5_PLUGIN_PATH=$folder-cuda LD_LIBRARY_PATH=$PWD/build/emu bash tests/hdf5/together.sh "$python" "$debug_output/libfzgm.so"
  HDF5_PLUGIN_PATH=$folder-cuda LD_LIBRARY_PATH=$PWD/build/emu bash tests/hdf5/device.sh "$python" "$library"
  HDF5_PLUGIN_PATH=$folder-cuda EMULATOR=$PWD/build/emu bash tests/hdf5/examples.sh "$python" "$library"
  say "tests of HDF5, netCDF and hdf5plugin with the filter"
  bash tests/hdf5/upstream.sh "$python"
}

# The plugin as it is installed, found by the module for Python beside it.
installed_hdf5() {
  local prefix=$PWD/build/hdf5-install
  cmake -S . -B build/hdf5-cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DFZGM_BUILD_HDF5=ON >/dev/null
  cmake --build build/hdf5-cmake --target fzgm_hdf5
  cmake --install build/hdf5-cmake --component hdf5 >/dev/null
  env -u HDF5_PLUGIN_PATH PYTHONPATH="$prefix/share/fzgm/python" build/hdf5-venv/bin/python -c 'import fzgm_hdf5; fzgm_hdf5.load()'
  HDF5_PLUGIN_PATH=$(dirname "$(find "$prefix" -name libh5fzgm.so)") PYTHONPATH=$prefix/share/fzgm/python \
    build/hdf5-venv/bin/python tests/hdf5/test_h5py.py
}

# Tests that take too long for every change: five times the mutations, and all that is ignored otherwise save the fuzzer.
part_long() {
  need_c
  need_rust
  FZGM_LONG=1 cargo test --quiet --locked --workspace -- --include-ignored --skip fuzz
  bash tests/emu/build.sh plain
  FZGM_LONG=1 on_emulator 'it ORDER=fwd contract::'
  part_hdf5
  say "the filter in other versions of HDF5"
  HDF5_PLUGIN_PATH=$PWD/build/hdf5-plugin PYTHONPATH=$PWD/hdf5-filter/python bash tests/hdf5/versions.sh build/hdf5-venv/bin/python build/hdf5-wheels
  installed_hdf5
}

# Damaged containers from a random source for FUZZ_SECONDS; says how many, and what became of them. Then every target of fuzz/ for as long,
# from containers of every stage, preset and form on, which the first run writes.
part_fuzz() {
  need_c
  need_rust
  FUZZ_SECONDS=${FUZZ_SECONDS:-300} FUZZ_SEEDS=$PWD/build/fuzz/seeds \
    cargo test --quiet --locked --test counted -- --ignored --nocapture corrupt::fuzz
  bash scripts/fuzz.sh
}

# Threads that share a plan, under ThreadSanitizer, which rustc has for its nightly form alone; and one race that it must find.
part_tsan() {
  need_c
  need_rust
  local out=$PWD/build/tsan host library program libraries=(-lgcc_s -lutil -lrt -lpthread -lm -ldl)
  host=$(rustc -vV | sed -n 's/^host: //p')
  FZGM_CUDA=off RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_PROFILE_DEV_OPT_LEVEL=1 \
    CARGO_TARGET_DIR=$out cargo build --quiet --locked -p libfzgm --no-default-features --target "$host"
  library=$out/$host/debug/libfzgm.a
  cc -g -O1 -fno-builtin -fsanitize=thread -c tests/c/tsan/memory.c -o "$out/memory.o"
  for program in threads tsan/race; do
    c++ -std=c++17 -g -O1 -fsanitize=thread -Iinclude "tests/c/$program.cpp" "$out/memory.o" "$library" "${libraries[@]}" \
      -o "$out/$(basename $program)"
  done
  "$out/threads"
  if "$out/race" >"$out/race.log" 2>&1; then die "ThreadSanitizer does not see a race that is there"; fi
  grep -q 'WARNING: ThreadSanitizer: data race' "$out/race.log" || { cat "$out/race.log" >&2; return 1; }
  echo "and a race that is there is found"
}

# need_target <target>: the standard library of another system, which rustup alone brings.
need_target() {
  [ -d "$(rustc --print target-libdir --target "$1")" ] && return 0
  has rustup && rustup target add "$1" && return 0
  die "this Rust has no standard library for $1; with rustup: rustup target add $1"
}

# Another processor, in qemu: tests by exact arithmetic, recorded files, and containers that have to be those of x86-64.
part_aarch64() (
  local target=aarch64-unknown-linux-gnu
  need_c
  need_rust
  need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu qemu-aarch64-static qemu-user-static
  [ -e /usr/aarch64-linux-gnu/lib/libc.so ] || packages libc6-dev-arm64-cross
  need_target $target
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
  export FZGM_CUDA=off CARGO_PROFILE_TEST_DEBUG=0
  local cargo=(cargo test --quiet --locked -p fzgm --no-default-features --features capi --target $target)
  "${cargo[@]}" --lib
  "${cargo[@]}" --test it -- --nocapture environment:: containers:: golden:: vectors:: bound:: presets::
  # Every stage takes as long as all of these.
  "${cargo[@]}" --test it -- contract::presets_hold contract::what_does_not_compress
  # Of the tests over every float two for each type; they share the program.
  "${cargo[@]}" --test it -- --nocapture every_f32_abs_third every_f32_rel_thousandth random_f64_abs_thousandth random_f64_rel_tenth
)

# The command line in one file, the static library in a program of one file, and the containers, all with musl.
part_musl() (
  local target=x86_64-unknown-linux-musl out=$PWD/build/musl program unwind
  need_c
  need_rust
  need musl-gcc musl-tools
  need_target $target
  export CARGO_TARGET_DIR=$out CARGO_PROFILE_TEST_DEBUG=0 FZGM_CUDA=off
  # With the feature cuda: a program without a dynamic loader has to do without a driver.
  cargo test --quiet --locked -p fzgm --target $target --test it -- containers:: golden::
  cargo test --quiet --locked -p fzgm-cli --target $target --test cli
  cargo build --quiet --locked --target $target --no-default-features -p libfzgm
  # Rust's own unwinder: that of gcc is made for glibc.
  unwind=$(rustc --print target-libdir --target $target)/self-contained/libunwind.a
  musl-gcc -static -std=c11 -O1 -Iinclude examples/quickstart.c "$out/$target/debug/libfzgm.a" "$unwind" -lm -o "$out/quickstart"
  for program in "$out/quickstart" "$out/$target/debug/fzgm"; do
    ! readelf -d "$program" | grep NEEDED || die "$program needs other files"
  done
  "$out/quickstart" examples/data/egm96.f32 1440 721
)

# Licences, duplicates and sources of all crates: deny.toml. cargo-deny is built once, in minutes.
part_deny() (
  need_c
  need_rust
  export PATH=$PWD/build/tools/bin:$PATH
  has cargo-deny || CARGO_TARGET_DIR=$PWD/build/tools/target cargo install --quiet --locked --root "$PWD/build/tools" cargo-deny@0.20
  # What one of the two does not have the other has.
  local check=(check --allow license-exception-not-encountered)
  cargo deny --locked --workspace "${check[@]}" licenses bans sources
  local crate
  for crate in fuzz tests/hdf5/signatures; do
    cargo deny --locked --config deny.toml --manifest-path "$crate/Cargo.toml" "${check[@]}" licenses sources
  done
)

[ $# -gt 0 ] && parts=("$@")
for part in "${parts[@]}"; do
  [[ " ${all_parts[*]} " == *" $part "* ]] || { printf 'unknown part %s; parts: %s\n' "$part" "${all_parts[*]}" >&2; exit 2; }
done
passed=()
for part in "${parts[@]}"; do
  say "part $part"
  started=$SECONDS
  "part_$part"
  passed+=("$part ($((SECONDS - started)) s)")
done
say "passed: ${passed[*]}"
