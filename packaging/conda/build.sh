#!/usr/bin/env bash
# Builds one output of recipe.yaml: library, hdf5, adios2, or python.
set -euo pipefail
if [ "${cuda_compiler_version:-None}" = None ]; then export FZGM_CUDA=off; else export FZGM_CUDA=require; fi
python3 packaging/crates.py licenses LICENSES.txt
case $1 in
  library) options=() ;;
  hdf5) options=(-DFZGM_BUILD_HDF5=ON "-DFZGM_HDF5_CUDA=$([ $FZGM_CUDA = off ] && echo OFF || echo ON)") ;;
  adios2) options=(-DFZGM_BUILD_ADIOS2=ON -DFZGM_BUILD_SHARED=OFF -DFZGM_BUILD_CLI=OFF) ;;
  python) exec python3 -m pip install ./python --no-deps --no-build-isolation --prefix "$PREFIX" -vv ;;
esac
# shellcheck disable=SC2086
cmake -S . -B build ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib "${options[@]}"
case $1 in
  library)
    cmake --build build
    cmake --install build
    ;;
  *)
    cmake --build build --target "fzgm_$1"
    cmake --install build --component "$1"
    ;;
esac
