#!/usr/bin/env bash
# Builds the C++ libraries of ADIOS2 with MPI, and bpls, from the source distribution on the package index: the wheel is serial and has no
# bpls. An interrupted build is continued. Prints the seconds and CPU seconds of this call.
#
#   engine.sh <folder>      <folder>/tree is then the ADIOS2_DIR, and has bin/bpls; <folder>/source has the tests of ADIOS2
#
# PYTHON has pip. JOBS is the number of compilers that run at a time, by default that of the processors.
set -euo pipefail
version=2.12.1.1001
mkdir -p "$1"
cd "$1"
[ "$(cat built 2>/dev/null)" != $version ] || exit 0

# pip runs the build backend of a source distribution to read its metadata.
[ -e adios2-$version.tar.gz ] || "${PYTHON:-python3}" -m pip download --quiet --no-deps --no-binary adios2 adios2==$version
if [ "$(cat unpacked 2>/dev/null)" != $version ]; then
  rm -rf source tree
  mkdir source
  tar xzf adios2-$version.tar.gz -C source --strip-components=1
  printf %s $version >unpacked
fi

# Optimization of ADIOS2 would double the seconds of the build.
options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' -DCMAKE_C_FLAGS_RELEASE='-O1 -DNDEBUG' -DBUILD_SHARED_LIBS=ON
  -DADIOS2_USE_MPI=ON -DBUILD_TESTING=OFF -DADIOS2_BUILD_EXAMPLES=OFF)
for part in BigWhoop Blosc2 BZip2 Caliper ZFP SZ SZ3 LIBPRESSIO MGARD PRODM PNG DAOS DataMan DataSpaces MHS SST ZeroMQ HDF5 HDF5_VOL IME Python \
  Fortran UCX Sodium Catalyst Campaign OpenSSL XRootD CURL Derived_Variable; do
  options+=(-DADIOS2_USE_$part=OFF)
done
cmake -S source -B tree "${options[@]}" >configure.log 2>&1 || { tail -n 40 configure.log >&2; exit 1; }
cmake --build tree -j "${JOBS:-$(nproc)}" --target adios2_cxx_mpi adios2_cxx bpls >build.log 2>&1 || { grep -m 20 error build.log >&2; tail -n 20 build.log >&2; exit 1; }
# Fields 16 and 17: user and system time of programs that have ended, in clock ticks.
ticks=$(awk '{print $16 + $17}' /proc/$$/stat)
printf 'ADIOS2 %s with MPI: %s s, %s CPU seconds\n' $version $SECONDS $((ticks / $(getconf CLK_TCK))) | tee -a seconds
printf %s $version >built
