# The targets of fzgm, the same ones installed and inside of another project's build: fzgm::fzgm_shared, fzgm::fzgm_static, and
# fzgm::fzgm, which is the shared one if it exists and FZGM_USE_STATIC is off.
#
# Variables that must be set before including this file: _fzgm_include and _fzgm_lib, where the headers and the libraries are; _fzgm_shared and
# _fzgm_static, true for those that there are; _fzgm_so and _fzgm_soname; _fzgm_scope, GLOBAL or nothing.
if(_fzgm_shared AND NOT TARGET fzgm::fzgm_shared)
  add_library(fzgm::fzgm_shared SHARED IMPORTED ${_fzgm_scope})
  set_target_properties(fzgm::fzgm_shared PROPERTIES
    IMPORTED_LOCATION "${_fzgm_lib}/${_fzgm_so}"
    IMPORTED_SONAME "${_fzgm_soname}"
    INTERFACE_INCLUDE_DIRECTORIES "${_fzgm_include}")
endif()

if(_fzgm_static AND NOT TARGET fzgm::fzgm_static)
  include(CMakeFindDependencyMacro)
  set(THREADS_PREFER_PTHREAD_FLAG TRUE)
  find_dependency(Threads)
  add_library(fzgm::fzgm_static STATIC IMPORTED ${_fzgm_scope})
  # The link line is the output of `rustc --print native-static-libs`. Threads by its flag and not by its target, which another
  # directory of a build may not have.
  set_target_properties(fzgm::fzgm_static PROPERTIES
    IMPORTED_LOCATION "${_fzgm_lib}/libfzgm.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_fzgm_include}"
    INTERFACE_LINK_LIBRARIES "${CMAKE_THREAD_LIBS_INIT};${CMAKE_DL_LIBS};m;gcc_s;util;rt")
endif()

if(NOT TARGET fzgm::fzgm AND (TARGET fzgm::fzgm_shared OR TARGET fzgm::fzgm_static))
  add_library(fzgm::fzgm INTERFACE IMPORTED ${_fzgm_scope})
  if(TARGET fzgm::fzgm_static AND (FZGM_USE_STATIC OR NOT TARGET fzgm::fzgm_shared))
    set_property(TARGET fzgm::fzgm PROPERTY INTERFACE_LINK_LIBRARIES fzgm::fzgm_static)
  else()
    set_property(TARGET fzgm::fzgm PROPERTY INTERFACE_LINK_LIBRARIES fzgm::fzgm_shared)
  endif()
endif()
