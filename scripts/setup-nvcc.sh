#!/usr/bin/env bash
# The compiler for CUDA kernels, from wheels, into .nvcc/ (105 MB to fetch, 271 MB on disk), where build.rs looks for it.
# It needs neither a GPU nor a driver, and no setting.
#
#   scripts/setup-nvcc.sh [folder]
. "$(dirname "$0")/lib.sh"
folder=${1:-.nvcc}
# All five by number: the requirements of the first are open, and a newer nvvm writes PTX that this ptxas refuses.
wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85)
nvcc() { "$folder"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc "$@"; }

if [ "$(cat "$folder/wheels" 2>/dev/null)" != "${wheels[*]}" ]; then
  # nvcc runs the C++ compiler of the machine as its preprocessor.
  need python3 python3 g++ g++
  python3 -c 'import ensurepip, venv' 2>/dev/null || packages python3-venv
  python3 -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile "${wheels[@]}"
  printf '%s' "${wheels[*]}" >"$folder/wheels"
  # The next build looks for a compiler again.
  touch build.rs
fi
nvcc --version | sed -n 's/.*release \(.*\), V\(.*\)/nvcc \2/p'
