#!/usr/bin/env bash
set -euo pipefail
if [ "${cuda_compiler_version:-None}" = None ]; then export FZGM_CUDA=off; else export FZGM_CUDA=require; fi
# shellcheck disable=SC2086
cmake -S . -B build ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib
cmake --build build
cmake --install build
