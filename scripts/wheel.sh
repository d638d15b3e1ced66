#!/usr/bin/env bash
# Builds the Python wheel, with the HDF5 plugin inside, into build/wheels.
#
#   scripts/wheel.sh                release build for the CPU
#   scripts/wheel.sh --cuda         with kernels for NVIDIA GPUs in the plugin and the extension; needs nvcc (scripts/setup-nvcc.sh)
#   scripts/wheel.sh --portable     for glibc 2.28 and later, with zig as linker; the wheel is manylinux_2_28
#   scripts/wheel.sh --sdist        the source distribution, in addition
#   scripts/wheel.sh --checked=F    the build of the tests: the checks of a debug build, compiled in a minute, and the plugin of file F
#
# The build tools are installed into build/wheel-tools. PYTHON names the interpreter, python3 by default.
. "$(dirname "$0")/lib.sh"
need_rust
profile=release features=() sdist='' zig=() plugin=''
for option in "$@"; do
  case $option in
    --cuda) features=(cuda) ;;
    --portable) zig=(--zig --compatibility manylinux_2_28) ;;
    --sdist) sdist=1 ;;
    --checked=*) profile=checked plugin=${option#--checked=} ;;
    *) die "unknown option $option; options: --cuda --portable --sdist --checked=PLUGIN" ;;
  esac
done
tools=$root/build/wheel-tools
if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet 'maturin>=1.7,<2' ziglang cargo-zigbuild
fi
export PATH=$tools/bin:$PATH

build=(--quiet --locked --profile "$profile" --target-dir "$root/build/wheel-target")
host=$(rustc -vV | sed -n 's/^host: //p')
if [ -z "$plugin" ]; then
  say "the HDF5 plugin"
  if [ ${#zig[@]} = 0 ]; then
    cargo build "${build[@]}" -p fzgm-hdf5 ${features[@]+--features fzgm-hdf5/cuda}
    plugin=build/wheel-target/$profile/libh5fzgm.so
  else
    cargo zigbuild "${build[@]}" -p fzgm-hdf5 ${features[@]+--features fzgm-hdf5/cuda} --target "$host.2.28"
    plugin=build/wheel-target/$host/$profile/libh5fzgm.so
  fi
fi
mkdir -p python/package/fzgm/plugin
strip -o python/package/fzgm/plugin/libh5fzgm.so "$plugin"

say "the wheel"
rm -rf build/wheels
maturin build "${build[@]}" "${zig[@]}" ${features[@]+--features cuda} -m python/Cargo.toml -o build/wheels
[ -z "$sdist" ] || maturin sdist -m python/Cargo.toml -o build/wheels
ls -l build/wheels
