#!/usr/bin/env bash
# Installs missing tools and runs the tests. build/test-seconds.tsv receives the seconds and the CPU seconds of each step. On a machine with
# other programs, CPU seconds alone can be compared.
#
#   scripts/test.sh                    the parts rust and emu, then c and adios2 beside python, hdf5, and wheel
#   scripts/test.sh <part>…            rust | emu | c | python | hdf5 | adios2 | wheel | long | mutants | fuzz | tsan |
#                                      aarch64 | musl | deny
. "$(dirname "$0")/lib.sh"
parts=(rust emu c python hdf5 adios2 wheel)
all_parts=("${parts[@]}" long mutants fuzz tsan aarch64 musl deny)
mkdir -p build

# step <name> <command…>: runs it and records its seconds.
step() {
  local name=$1 started=$SECONDS cpu before
  shift
  say "$name"
  cpu_now
  before=$cpu
  "$@"
  took "$name" "$started" "$before"
}

# cpu_now: sets `cpu` to the CPU seconds of the programs that this shell has started and that have ended.
cpu_now() {
  local fields
  read -r fields <"/proc/$BASHPID/stat"
  # Behind the name of the program; the two fields are in clock ticks.
  read -r -a fields <<<"${fields##*) }"
  cpu=$(((fields[13] + fields[14]) / $(getconf CLK_TCK)))
}

# took <name> <start> <CPU seconds before>
took() {
  local cpu
  cpu_now
  printf '%s\t%s\t%s\t%s\n' "$part" "$1" $((SECONDS - $2)) $((cpu - $3)) >>build/test-seconds.tsv
}

# beside <name> <command…>: a step that runs while the script continues, at most as many as there are processors. Its output is printed at its
# end. `settled` waits for all of them and fails if one of them has failed.
beside() {
  while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
  {
    log=$(mktemp)
    set +e
    (
      set -e
      step "$@"
    ) >"$log" 2>&1
    code=$?
    cat "$log"
    rm "$log"
    [ $code = 0 ] || printf '%s: %s\n' "$part" "$1" >>build/failed-steps
  } &
}
settled() {
  wait
  [ ! -e build/failed-steps ] || die "failed: $(cat build/failed-steps)"
}

# ahead: packages of the parts, and the emulator, at a low priority beside the first steps, in processor time that they leave. Each step
# that requires a result runs the command again, waits for this run, and reports the errors.
ahead() {
  (
    (
      renice -n 10 -p "$BASHPID" >/dev/null
      for part in "${parts[@]}"; do if declare -F "tools_$part"; then ("tools_$part") || true; fi; done
      if [[ " ${parts[*]} " == *" emu "* ]]; then for kind in plain asan; do bash tests/emu/build.sh $kind; done; fi
    ) >build/ahead.log 2>&1 &
  )
}

# Format, lints, tests, and documentation.
part_rust() {
  need_c
  need_rust
  need_nvcc
  ahead
  step style style
  step formats formats
  if rust_tool clippy clippy; then step clippy lints; fi
  step "test programs, libraries, and command line" programs
  step "tests on the CPU" rust_tests
  step "examples of the documentation" env "$tests_rustc" cargo test --quiet --locked --workspace --features "$features" --doc
  RUSTDOCFLAGS="-D warnings" step documentation cargo doc --quiet --locked --no-deps --workspace --features "$features"
}

# The English of pages and comments, and links between pages. Files that are not yet clean are in scripts/style.toml.
style() {
  local python=build/style-venv/bin/python
  venv build/style-venv typos==1.52.0
  "$python" -B -m unittest discover -s tests/style -t tests/style
  "$python" scripts/style.py
}

formats() {
  if rust_tool fmt rustfmt; then cargo fmt --all -- --check; fi
  tests/seeded_bugs.sh --apply
}

# The library and the programs may not panic. Tests may: clippy.toml allows this in unit tests, and the other tests allow it themselves.
lints() { cargo clippy --quiet --locked --workspace --features "$features" --all-targets -- -D warnings; }

# Test programs, both C libraries, the plugin, and the command line in one build. With one profile and one set of features cargo
# compiles the library once for all of them. The profile is optimized and has the checks of a debug build.
features=libfzgm/cuda,fzgm-hdf5/cuda
# In all builds with this profile, because with another compiler cargo would compile the library again.
tests_rustc=RUSTC_WORKSPACE_WRAPPER=$root/tests/unit_rustc.sh
built=${CARGO_TARGET_DIR:-$root/target}/debug
programs() {
  [ -z "${programs_are_built:-}" ] || return 0
  need python3 python3
  need_nvcc
  env "$tests_rustc" cargo build --quiet --locked --workspace --profile test --features "$features" --lib --bins --tests \
    --message-format=json-render-diagnostics >build/programs.json
  python3 - build/programs.json >build/programs.tsv <<'PYTHON'
import json, sys
for line in open(sys.argv[1]):
    message = json.loads(line)
    if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
        name, kind = message["target"]["name"], message["target"]["kind"][0]
        folder = message["manifest_path"].rpartition("/")[0]
        print(name if kind == "test" else f"{name}-{kind}", message["executable"], folder, sep="\t")
PYTHON
  programs_are_built=1
}

rust_tests() {
  # The longest first.
  local name runs=("it cpu")
  while IFS=$'\t' read -r name _; do [ "$name" = it ] || runs+=("$name cpu"); done <build/programs.tsv
  run_tests "${runs[@]}"
}

# rust_tool <subcommand> <component>: is it there, or can rustup bring it? A compiler from a distribution may lack it.
rust_tool() {
  cargo "$1" --version >/dev/null 2>&1 && return 0
  has rustup && rustup component add "$2" >/dev/null 2>&1 && return 0
  printf 'SKIPPED: cargo %s (this Rust has no %s)\n' "$1" "$2"
  return 1
}

# Modules of the program `it` whose cases all go through a device.
devices=cuda::,fast::,ginterp::,lorenzo::,bins::,rel::,header_bounds::

# The CUDA backend without a GPU: the emulator itself, then the kernels on it.
part_emu() {
  need_c
  need objcopy binutils
  need_rust
  local kind
  for kind in plain asan; do step "emulator, $kind" bash tests/emu/build.sh $kind; done
  step "seeded bugs of the emulator" bash tests/emu/selftest.sh
  step "test programs, libraries, and command line" programs
  # The longest first. Every test runs in at least one order of threads. Tests of device memory and streams run with late operations and under
  # AddressSanitizer, in two programs, because the tests of one program wait for each other.
  step "tests on the emulator" run_tests "it asan,ORDER=20,DEFER=1 cuda::" "it asan,ORDER=20,DEFER=1 ${devices#cuda::,},--skip,cuda::" 'it ORDER=fwd contract::' \
    'it ORDER=rev,DEFER=1 campaign::' 'it ORDER=rev pipelines::' 'it ORDER=rev coders::' 'it asan coders::' 'cli ORDER=fwd devices::' \
    'it ORDER=fwd recompression::' 'cuda_calls DEFER=1' 'cuda_faults DEFER=1' 'it ORDER=fwd fields::a_corner'
  step "C on the emulator" c_on_emulator
}

# tests/c/cuda.c as a user's program, in the modes of the emulator, under sanitizers, and with the driver present but GPUs switched off.
c_on_emulator() {
  local kind mode libraries=(-lgcc_s -lutil -lrt -lpthread -lm -ldl) out=$PWD/build/emu-c
  mkdir -p "$out"
  for kind in plain sanitize; do
    local flags=(-std=c99 -g -O1 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wstrict-prototypes -Werror -Iinclude)
    [ $kind = plain ] || flags+=(-fsanitize=address,undefined -fno-sanitize-recover=all)
    cc "${flags[@]}" tests/c/cuda.c "$built/libfzgm.a" "${libraries[@]}" -o "$out/cuda-$kind"
    for mode in ORDER=fwd ORDER=rev DEFER=1; do
      echo "tests/c/cuda.c, $kind, $mode"
      env FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu" "FZ_EMU_$mode" ASAN_OPTIONS=detect_leaks=0 "$out/cuda-$kind"
    done
    env FZGM_DISABLE_CUDA=1 LD_LIBRARY_PATH="$PWD/build/emu" ASAN_OPTIONS=detect_leaks=0 "$out/cuda-$kind"
  done
  local toolkit
  toolkit=$(find .nvcc "${CUDA_HOME:-/usr/local/cuda}/" -name cuda_runtime.h -path '*include*' -print -quit 2>/dev/null || true)
  if [ -n "$toolkit" ]; then
    # Compiled only: the CUDA runtime needs functions that the emulator does not have.
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -isystem "$(dirname "$toolkit")" -fsyntax-only examples/{compress,batch,gpus}_cuda.c
    echo "the examples for a GPU compile"
  else
    echo "SKIPPED: the examples for a GPU (no cuda_runtime.h)"
  fi
}

# run_tests '<program> <mode> [<name>[,<name>]…]'…: test programs, or their tests with these names, one per processor at a time. The mode is cpu, or one of the
# emulator: asan has sanitizers in the kernels; ORDER=fwd, rev, or a number is an order of threads; DEFER=1 runs streams as late as
# possible; commas join modes.
run_tests() {
  local run busy=0 failed=0
  mkdir -p build/test-logs
  for run in "$@"; do
    [ $busy -lt "$(nproc)" ] || { wait -n || failed=1; busy=$((busy - 1)); }
    # shellcheck disable=SC2086
    run_test $run &
    busy=$((busy + 1))
  done
  for (( ; busy > 0; busy--)); do wait -n || failed=1; done
  return $failed
}

# run_test <program> <mode> [<name>[,<name>]…]
run_test() {
  local name program folder mode tests=${3:-} started=$SECONDS set=()
  local log=$PWD/build/test-logs/$1-$2-${tests%%:*} title="$1${tests:+ $tests}, $2"
  IFS=$'\t' read -r name program folder < <(grep -P "^$1\t" build/programs.tsv) || { echo "there is no test program $1" >&2; return 1; }
  if [ "$2" != cpu ]; then
    set=(FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu")
    for mode in ${2//,/ }; do
      case $mode in
        asan) set+=(LD_LIBRARY_PATH="$PWD/build/emu-asan" LD_PRELOAD="$(g++ -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0) ;;
        *) set+=("FZ_EMU_$mode") ;;
      esac
    done
  fi
  # shellcheck disable=SC2086
  if (cd "$folder" && env "${set[@]}" "$program" --quiet ${tests//,/ }) >"$log" 2>&1; then
    printf '%s: %s s; %s\n' "$title" $((SECONDS - started)) "$(sed -n 's/^test result: //p' "$log" | tail -n 1)"
    took "  $title" "$started" 0
  else
    printf '%s FAILS\n' "$title"
    cat "$log"
    return 1
  fi
}

tools_c() { need valgrind valgrind pkg-config pkg-config readelf binutils gfortran gfortran dpkg-deb dpkg; }

# The library as programs in C, C++, and Fortran see it: installed, found, linked, abused, under sanitizers and valgrind. The build has the
# environment of scripts/demo.sh, which then finds the library built.
part_c() (
  [ -z "${need_nvcc_set_it:-}" ] || unset FZGM_CUDA
  need_c
  need_rust
  step "packages" tools_c
  local prefix=$PWD/build/install kind
  step "release build, installed" install_fzgm "$prefix"
  step "the installed package" bash tests/c/package.sh "$prefix"
  # Steps with the installed files run beside the step that works in the build tree.
  beside "archives of CPack" bash tests/c/packages.sh
  for kind in plain sanitize; do beside "programs in C, C++, and Fortran, $kind" c_programs "$prefix" $kind; done
  beside "examples of the documentation in C, C++, and Fortran" bash tests/c/snippets/run.sh "$prefix"
  settled
  step "programs under valgrind" under_valgrind
)

# c_programs <prefix> plain|sanitize
c_programs() {
  local tree=build/c-$2
  cmake -S tests/c -B "$tree" -DCMAKE_PREFIX_PATH="$1" -DSANITIZE=$([ "$2" = sanitize ] && echo ON || echo OFF) >"$tree.log" 2>&1 \
    || { cat "$tree.log" >&2; return 1; }
  cmake --build "$tree" -j "$(nproc)" >>"$tree.log" 2>&1 || { tail -n 40 "$tree.log" >&2; return 1; }
  local without=(-LE long)
  [ -z "${FZGM_LONG:-}" ] || without=()
  ctest --test-dir "$tree" --output-on-failure -j "$(nproc)" "${without[@]}"
}

# Three programs that together call every function; all of them with FZGM_LONG. Not those of the stack, of failed allocations, and of
# floating-point environments: valgrind has its own stack bounds, malloc, and arithmetic.
under_valgrind() {
  local program leaks busy=0 failed=0 which=(-name pipelines_shared -o -name wrapper_shared -o -name files_shared)
  [ -z "${FZGM_LONG:-}" ] || which=(-name '*_shared' ! -name 'stack_*' ! -name 'memory_*' ! -name 'environment_*')
  while read -r program; do
    # Leaks of a real driver are not ours.
    [[ $program == */cuda_* ]] && ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && continue
    leaks=full
    [[ $program == *fork* ]] && leaks=no # A child cannot free what its parent's threads held.
    [ $busy -lt "$(nproc)" ] || { wait -n || failed=1; busy=$((busy - 1)); }
    (
      valgrind --quiet --error-exitcode=9 --leak-check=$leaks --show-leak-kinds=all --errors-for-leak-kinds=all \
        --suppressions=tests/c/valgrind.supp "$program" >"$program.valgrind" 2>&1 || { cat "$program.valgrind" >&2; exit 1; }
      printf '%s: %s\n' "$(basename "$program")" "$(tail -n 1 "$program.valgrind")"
    ) &
    busy=$((busy + 1))
  done < <(find build/c-plain -maxdepth 1 -type f -perm -u+x \( "${which[@]}" \) | sort)
  for (( ; busy > 0; busy--)); do wait -n || failed=1; done
  return $failed
}

# The independent decoder in Python, against the same containers; the recipes for Spack and conda; tables and picture of docs/measurements.md.
part_python() {
  need python3 python3
  python3 -c 'import yaml' 2>/dev/null || packages python3-yaml # as the recipe for conda is written
  local suite
  for suite in reference packaging figures; do beside "tests/$suite" python3 -m unittest discover -s tests/$suite -t tests/$suite; done
  settled
}

tools_hdf5() {
  need h5dump hdf5-tools nccopy netcdf-bin nc-config libnetcdf-dev mpirun openmpi-bin mpicc libopenmpi-dev pkg-config pkg-config readelf binutils valgrind valgrind gfortran gfortran objcopy binutils python3 python3
  pkg-config --exists hdf5-serial || packages libhdf5-dev
  pkg-config --exists hdf5-openmpi || packages libhdf5-openmpi-dev
  venv build/hdf5-venv h5py numpy netCDF4 xarray h5netcdf
}

# The filter plugin in other people's programs: Python, the tools of HDF5, netCDF, MPI, C, Fortran; chunks for a GPU on the emulator.
part_hdf5() {
  need_c
  need_rust
  step "packages" tools_hdf5
  local python=$PWD/build/hdf5-venv/bin/python folder=$PWD/build/hdf5-plugin
  step "the plugin's declarations and those of hdf5-metno-sys" \
    env CARGO_TARGET_DIR="$PWD/build/signatures" cargo check --quiet --locked --manifest-path tests/hdf5/signatures/Cargo.toml
  step "test programs, libraries, and command line" programs
  mkdir -p "$folder"
  cp "$built/libh5fzgm.so" "$folder/"
  export HDF5_PLUGIN_PATH=$folder PYTHONPATH=$PWD/hdf5-filter/python
  step "emulator" bash tests/emu/build.sh plain
  # Each has a folder of its own. The longest first.
  beside "the filter in programs in C" bash tests/hdf5/programs.sh hdf5-filter
  beside "the filter in h5py" "$python" tests/hdf5/test_h5py.py
  beside "datasets of all releases" "$python" -B tests/hdf5/test_releases.py
  beside "tests of HDF5, netCDF, and hdf5plugin with the filter" bash tests/hdf5/upstream.sh "$python"
  beside "the filter in h5repack and h5dump" bash tests/hdf5/tools.sh "$python" "$built/fzgm"
  beside "the filter in netCDF" bash tests/hdf5/netcdf.sh "$python"
  beside "the filter in parallel HDF5" bash tests/hdf5/parallel.sh "$python" hdf5-filter
  beside "messages between ranks" bash tests/c/halo.sh "$built/libfzgm.a"
  beside "the plugin and the library in one process" bash tests/hdf5/together.sh "$python" "$built/libfzgm.so"
  beside "the filter on a GPU" env LD_LIBRARY_PATH="$PWD/build/emu" bash tests/hdf5/device.sh "$python" "$built/libfzgm.a"
  beside "the examples of HDF5" env EMULATOR="$PWD/build/emu" bash tests/hdf5/examples.sh "$python" "$built/libfzgm.a"
  settled
}

tools_adios2() {
  need readelf binutils objcopy binutils
  venv build/adios2-venv 'adios2==2.12.*' numpy
}

# The operator plugin of ADIOS2 in the ADIOS2 of a wheel, which is serial: built and installed by CMake, files of C++ and Python, blocks of a GPU
# on the emulator. The library is that of part c.
part_adios2() {
  need_c
  need_rust
  step "packages" tools_adios2
  local python=$PWD/build/adios2-venv/bin/python adios
  adios=$("$python" -c 'import adios2, os; print(os.path.dirname(adios2.__file__))')
  (
    [ -z "${need_nvcc_set_it:-}" ] || unset FZGM_CUDA
    step "release build, installed" install_fzgm "$PWD/build/install"
    step "the plugin of ADIOS2, installed" install_adios2 "$adios"
  )
  step "the operator in C++ and Python" \
    bash tests/adios2/run.sh "$python" "$(dirname "$(find "$PWD/build/adios2-install" -name libfzgm_adios2.so)")" build/adios2-tests "$PWD/build/install"
  step "test programs, libraries, and command line" programs
  step "emulator" bash tests/emu/build.sh plain
  step "the operator on the emulator" adios2_on_emulator "$adios"
}

# install_adios2 <folder of the package adios2>: the component adios2 alone. The build tree is afterwards as it was.
install_adios2() {
  local log=build/adios2-cmake.log
  cmake -S . -B build/cmake -DFZGM_BUILD_ADIOS2=ON -DADIOS2_DIR="$1/cmake/adios2" >$log 2>&1 || { cat $log >&2; return 1; }
  cmake --build build/cmake --target fzgm_adios2
  rm -rf build/adios2-install
  cmake --install build/cmake --component adios2 --prefix "$PWD/build/adios2-install"
  cmake -S . -B build/cmake -DFZGM_BUILD_ADIOS2=OFF >>$log
}

# adios2_on_emulator <folder of the package adios2>: with the library of the tests, and what the language leaves undefined ends the program.
adios2_on_emulator() {
  local plugin=$PWD/build/adios2-emu/libfzgm_adios2.so program
  mkdir -p build/adios2-emu
  c++ -std=c++17 -O1 -g -fPIC -shared -fvisibility=hidden -fsanitize=undefined -fno-sanitize-recover=all -Wall -Wextra -Iinclude -isystem "$1/include" \
    adios2/*.cpp "$built/libfzgm.a" -Wl,--version-script=adios2/exports.map -lgcc_s -lutil -lrt -lpthread -lm -ldl -o "$plugin"
  for program in device interface; do
    env FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu" "build/adios2-tests/$program" "$plugin" | grep '^ok'
  done
}

tools_wheel() { venv build/wheel-venv numpy h5py netCDF4 zarr xarray h5netcdf dask matplotlib pytest hypothesis; }

# The Python package: built as a wheel, installed into an environment of its own, and tested there.
part_wheel() {
  need_c
  need_rust
  step "packages" tools_wheel
  step "lints of the extension module" extension_lints
  step "test programs, libraries, and command line" programs
  local python=$PWD/build/wheel-venv/bin/python
  step "the wheel" bash scripts/wheel.sh --checked --plugin="$built/libh5fzgm.so"
  "$python" -m pip install --quiet --force-reinstall --no-deps build/wheels/fzgm-*.whl
  local tests=("$python" -X dev -m pytest -q -p no:cacheprovider -W error::pytest.PytestUnraisableExceptionWarning -W error::ResourceWarning)
  bash tests/emu/build.sh plain >/dev/null
  beside "tests of the wheel" env -u HDF5_PLUGIN_PATH FZGM_CLI="$built/fzgm" "${tests[@]}" python/tests
  local emulator=(FZGM_REQUIRE_GPU=1 LD_LIBRARY_PATH="$PWD/build/emu") mode
  for mode in ORDER=fwd DEFER=1; do
    beside "arrays on the emulator, $mode" env "${emulator[@]}" "FZ_EMU_$mode" "${tests[@]}" python/tests/test_gpu.py
  done
  # The extension has no checks of AddressSanitizer compiled in: it sees memory that is freed twice, and what its own memcpy and allocator see.
  beside "arrays under AddressSanitizer" env "${emulator[@]}" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc LD_PRELOAD="$(g++ -print-file-name=libasan.so)" \
    "$python" -m pytest -q -p no:cacheprovider python/tests/test_{gpu,wrong_calls,parts,threads}.py
  settled
}

extension_lints() {
  if rust_tool fmt rustfmt; then cargo fmt --manifest-path python/Cargo.toml -- --check; fi
  if rust_tool clippy clippy; then
    cargo clippy --quiet --locked --manifest-path python/Cargo.toml --profile checked --target-dir build/wheel-target -- -D warnings
  fi
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

# The source distribution of the Python package, compiled and installed by pip in a fresh environment. It has no plugin, and reports this.
from_sdist() {
  local venv=$PWD/build/sdist-venv
  bash scripts/wheel.sh --sdist-only
  rm -rf "$venv"
  python3 -m venv "$venv"
  env -u CARGO_TARGET_DIR FZGM_CUDA=off "$venv/bin/python" -m pip install --quiet --no-cache-dir build/sdist/fzgm-*.tar.gz
  "$venv/bin/python" - <<'PYTHON'
import fzgm, numpy as np

x = np.random.default_rng(1).normal(size=(20, 30, 40)).cumsum(-1).astype("f4")
for preset in ("fast", "high"):
    assert fzgm.compare(x, fzgm.decompress(fzgm.compress(x, error_bound=1e-3, preset=preset)), error_bound=1e-3).kept
try:
    import fzgm.hdf5
except fzgm.FileError as error:
    assert "install a wheel" in str(error), error
else:
    raise SystemExit("the source distribution has a plugin")
PYTHON
}

# Tests that take too long for every change: five times the mutations, all ignored tests except the fuzzer, every program under valgrind, the
# fuzz targets compiled, the Python package installed from its source distribution, the kernels for all architectures, and on the emulator all
# arrays of at most 64 KiB and twice the cases under sanitizers. ADIOS2 with MPI and openPMD-api are built once, in build/adios2-mpi and
# build/openpmd; ADIOS2 requires 8 minutes of processor time.
part_long() {
  local kind
  unset FZGM_CUDA_ARCHS FZGM_PTX_ARCH NVCC_APPEND_FLAGS "${!CARGO_PROFILE_RELEASE_@}"
  need_c
  need_rust
  need_nvcc
  export FZGM_LONG=1
  env "$tests_rustc" cargo test --quiet --locked --workspace --features "$features" -- --include-ignored --skip fuzz
  cargo check --quiet --locked --manifest-path fuzz/Cargo.toml
  programs
  for kind in plain asan; do bash tests/emu/build.sh $kind; done
  run_tests "it asan $devices" 'it ORDER=fwd contract::' "it ORDER=rev $devices" 'it asan coders::' \
    'it ORDER=rev pipelines::' 'it ORDER=rev coders::' 'it ORDER=fwd recompression::' 'cuda_calls ORDER=fwd'
  part_c
  part_hdf5
  say "the filter in other versions of HDF5"
  HDF5_PLUGIN_PATH=$PWD/build/hdf5-plugin PYTHONPATH=$PWD/hdf5-filter/python bash tests/hdf5/versions.sh build/hdf5-venv/bin/python build/hdf5-wheels
  installed_hdf5
  step "the source distribution of the Python package" from_sdist
  part_adios2
  step "packages" tools_adios2_mpi
  local plugin engine=$PWD/build/adios2-mpi
  plugin=$(dirname "$(find "$PWD/build/adios2-install" -name libfzgm_adios2.so)")
  export PYTHON=$PWD/build/adios2-venv/bin/python
  step "ADIOS2 with MPI" bash tests/adios2/engine.sh "$engine"
  step "the operator in ADIOS2 with MPI" bash tests/adios2/parallel.sh "$engine" "$plugin" build/adios2-parallel
  step "the operator in openPMD" bash tests/adios2/openpmd.sh "$engine" "$plugin" build/openpmd
}

tools_adios2_mpi() {
  need mpirun openmpi-bin mpicxx libopenmpi-dev
  [ -e /usr/include/nlohmann/json.hpp ] || packages nlohmann-json3-dev
  [ -e /usr/include/toml.hpp ] || packages libtoml11-dev
}

# Mutants of the Rust library by cargo-mutants, for the files of MUTANTS (all); .cargo/mutants.toml lists the tests that judge them.
part_mutants() (
  need_c
  need_rust
  export PATH=$PWD/build/tools/bin:$PATH FZGM_CUDA=off
  has cargo-mutants || CARGO_TARGET_DIR=$PWD/build/tools/target cargo install --quiet --locked --root "$PWD/build/tools" cargo-mutants
  local file files=()
  for file in ${MUTANTS:-}; do files+=(--file "$file"); done
  cargo mutants --output build "${files[@]}"
)

# Damaged containers from a random source for FUZZ_SECONDS; prints their number and statuses. Then every target of fuzz/ for as long,
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
  # Two of the tests over every float for each type; they share the program.
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

# Licenses, duplicates and sources of all crates: deny.toml. cargo-deny is built once, in minutes.
part_deny() (
  need_c
  need_rust
  export PATH=$PWD/build/tools/bin:$PATH
  has cargo-deny || CARGO_TARGET_DIR=$PWD/build/tools/target cargo install --quiet --locked --root "$PWD/build/tools" cargo-deny@0.20
  # Each of the two may lack crates that the other one has.
  local check=(check --allow license-exception-not-encountered)
  cargo deny --locked --workspace "${check[@]}" licenses bans sources
  local crate
  for crate in fuzz python tests/hdf5/signatures; do
    cargo deny --locked --config deny.toml --manifest-path "$crate/Cargo.toml" "${check[@]}" licenses sources
  done
)

# run_part <part>
run_part() {
  local before started=$SECONDS
  part=$1
  say "part $part"
  cpu_now
  before=$cpu
  "part_$part"
  took "all" "$started" "$before"
  printf '%s %s s, ' "$part" $((SECONDS - started)) >>build/passed
}

# two_lanes: the parts after rust and emu, in two lanes side by side, because each of them leaves a processor without work for a third of its
# time. The output of the second lane is printed at the end. Part adios2 uses the build tree of part c. The lanes share what `programs` has built.
two_lanes() {
  local second failed=0 log=build/second-lane.log
  (for part in python hdf5 wheel; do run_part "$part"; done) >"$log" 2>&1 &
  second=$!
  (for part in c adios2; do run_part "$part"; done) &
  wait $! || failed=1
  wait "$second" || failed=1
  cat "$log"
  [ $failed = 0 ] || die "a part failed; passed: $(cat build/passed)"
}

for part in "$@"; do
  [[ " ${all_parts[*]} " == *" $part "* ]] || { printf 'unknown part %s; parts: %s\n' "$part" "${all_parts[*]}" >&2; exit 2; }
done
rm -f build/test-seconds.tsv build/failed-steps build/ahead.log build/passed
if [ $# -gt 0 ]; then
  parts=("$@")
  for part in "$@"; do run_part "$part"; done
else
  run_part rust
  run_part emu
  two_lanes
fi
say "seconds and CPU seconds per step, also in build/test-seconds.tsv"
cat build/test-seconds.tsv
say "passed: $(cat build/passed)together $SECONDS s"
