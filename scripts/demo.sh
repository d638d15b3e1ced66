#!/usr/bin/env bash
# From a bare machine to a compressed field: sets up what is missing, builds, installs, compiles the quick start against
# the installed library and runs it on the field that the repository ships.
#
#   scripts/demo.sh [<prefix>]        prefix: where to install, by default build/install
. "$(dirname "$0")/lib.sh"
mkdir -p build
prefix=$(realpath -m "${1:-build/install}")

need_c
need_rust
say "building fzgm ($(rustc --version))"
install_fzgm "$prefix"

say "compiling examples/quickstart.c with find_package(fzgm)"
cmake -S examples -B build/examples -DCMAKE_PREFIX_PATH="$prefix" >build/examples.log 2>&1 || { cat build/examples.log >&2; exit 1; }
cmake --build build/examples

say "EGM96 geoid, 1440 x 721 floats, each within 1e-3 of the value range"
build/examples/quickstart examples/data/egm96.f32 1440 721

say "what now"
printf 'the command line:  export PATH=%s/bin:$PATH\n' "$prefix"
printf 'the HDF5 filter:   export HDF5_PLUGIN_PATH=%s/lib/fzgm/hdf5\n' "$prefix"
