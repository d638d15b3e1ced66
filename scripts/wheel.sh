#!/usr/bin/env bash
# Builds the Python wheel, with the HDF5 plugin inside, into build/wheels.
#
#   scripts/wheel.sh                release build for the CPU
#   scripts/wheel.sh --cuda         with kernels for NVIDIA GPUs in the HDF5 plugin; needs nvcc (scripts/setup-nvcc.sh)
#   scripts/wheel.sh --sdist        the source distribution, in addition
#   scripts/wheel.sh --checked      the build of the tests: the checks of a debug build, compiled in a minute
#   scripts/wheel.sh --plugin=FILE  with a plugin that has been built
#
# The wheel runs with the glibc of the machine that builds it, and with later ones; its name states which.
# The build tools are installed into build/wheel-tools. PYTHON names the interpreter, python3 by default.
. "$(dirname "$0")/lib.sh"
need_rust
profile=release cuda='' sdist='' plugin=''
for option in "$@"; do
  case $option in
    --cuda) cuda=1 ;;
    --sdist) sdist=1 ;;
    --checked) profile=checked ;;
    --plugin=*) plugin=${option#--plugin=} ;;
    *) die "unknown option $option; options: --cuda --sdist --checked --plugin=FILE" ;;
  esac
done
tools=$root/build/wheel-tools
if [ ! -x "$tools/bin/maturin" ]; then
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet 'maturin>=1.7,<2'
fi
export PATH=$tools/bin:$PATH

build=(--quiet --locked --profile "$profile" --target-dir "$root/build/wheel-target")
if [ -z "$plugin" ]; then
  [ "$profile" = release ] || die "--checked needs --plugin=FILE: the profile belongs to the extension"
  say "the HDF5 plugin"
  cargo build "${build[@]}" -p fzgm-hdf5 ${cuda:+--features fzgm-hdf5/cuda}
  plugin=build/wheel-target/release/libh5fzgm.so
fi
mkdir -p python/package/fzgm/plugin
strip -o python/package/fzgm/plugin/libh5fzgm.so "$plugin"

say "the wheel"
rm -rf build/wheels
maturin build "${build[@]}" -m python/Cargo.toml -o build/wheels
[ -z "$sdist" ] || maturin sdist -m python/Cargo.toml -o build/wheels
ls -l build/wheels
