#!/usr/bin/env bash
# openPMD-api from its source distribution on the package index, over the ADIOS2 of engine.sh, once; then a field through the operator on 1
# and 3 ranks. The wheel of openPMD-api contains an ADIOS2 that exports no symbols, so plugins cannot be loaded there.
#
#   openpmd.sh <folder of engine.sh> <folder of libfzgm_adios2.so> <build folder>
#
# Requires nlohmann-json3-dev and libtoml11-dev. PYTHON has pip. MPIEXEC replaces `mpirun --oversubscribe`.
. "$(dirname "$0")/../shell.sh"
version=0.17.1.post4
engine=$(realpath "$1") folder=$(realpath "$2")
mkdir -p "$3"
cd "$3"
export ADIOS2_PLUGIN_PATH=$folder OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ "$(cat built 2>/dev/null)" != $version ]; then
  [ -e openpmd_api-$version.tar.gz ] || "${PYTHON:-python3}" -m pip download --quiet --no-deps --no-binary openpmd-api openpmd-api==$version
  [ -d source ] || { mkdir source && tar xzf openpmd_api-$version.tar.gz -C source --strip-components=1; }
  # Without `superbuild`, CMake downloads nothing.
  options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DADIOS2_DIR="$engine/tree" -DopenPMD_USE_ADIOS2=ON -DopenPMD_USE_MPI=ON
    -DopenPMD_USE_HDF5=OFF -DopenPMD_USE_PYTHON=OFF -DopenPMD_SUPERBUILD=OFF -DopenPMD_BUILD_TESTING=OFF -DopenPMD_BUILD_EXAMPLES=OFF
    -DopenPMD_BUILD_CLI_TOOLS=OFF -DopenPMD_BUILD_SHARED_LIBS=ON)
  cmake -S source -B tree "${options[@]}" >configure.log 2>&1 || { tail -n 40 configure.log >&2; exit 1; }
  cmake --build tree -j "$(nproc)" >build.log 2>&1 || { grep -m 20 error build.log >&2; tail -n 20 build.log >&2; exit 1; }
  cmake --install tree --prefix "$PWD/install" >install.log
  printf %s $version >built
fi
cat >program.cmake <<CMAKE
cmake_minimum_required(VERSION 3.18...3.28)
project(openpmd LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(openPMD CONFIG REQUIRED)
add_executable(openpmd $here/openpmd.cpp)
target_link_libraries(openpmd PRIVATE openPMD::openPMD)
CMAKE
mkdir -p program
mv program.cmake program/CMakeLists.txt
{ cmake -S program -B program/tree -DCMAKE_PREFIX_PATH="$PWD/install" -DADIOS2_DIR="$engine/tree" && cmake --build program/tree; } >program.log 2>&1 \
  || { tail -n 40 program.log >&2; fail "openpmd.cpp does not compile"; }
program=$PWD/program/tree/openpmd
cd "$work"
# shellcheck disable=SC2086
ranks() { timeout 300 ${MPIEXEC:-mpirun --oversubscribe} -n "$@"; }
for n in 1 3; do
  ranks $n "$program" series.bp
  ranks $n "$program" series.bp read
  ranks 1 "$program" series.bp read
  code=0
  env -u ADIOS2_PLUGIN_PATH "$program" series.bp read >out 2>&1 || code=$?
  [ $code = 1 ] || fail "openPMD without the plugin ends with $code: $(cat out)"
  grep -q "Failed to load library\|find operator plugin" out || fail "openPMD without the plugin: $(cat out)"
  rm -r series.bp
done
ok "openPMD-api $version: a field of 1 and 3 ranks within its bound, and an error without the plugin"
