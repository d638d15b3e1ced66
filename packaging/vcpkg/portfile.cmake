# vcpkg has no Rust: cargo has to be on PATH. The Python package is no feature here, because vcpkg has no package for numpy; see packaging/conda.
vcpkg_download_distfile(archive
  URLS "https://fzgm.example.org/fzgm-${VERSION}.tar.gz"
  FILENAME "fzgm-${VERSION}.tar.gz"
  # A release has the checksum of its archive here.
  SHA512 0)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")
vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    tools FZGM_BUILD_CLI
    hdf5 FZGM_BUILD_HDF5
    cuda FZGM_HDF5_CUDA
    adios2 FZGM_BUILD_ADIOS2)
if("cuda" IN_LIST FEATURES)
  set(ENV{FZGM_CUDA} require)
else()
  set(ENV{FZGM_CUDA} off)
endif()
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic shared)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" static static)
# cargo builds one library, with optimization, for both configurations of vcpkg.
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(SOURCE_PATH "${source}"
  OPTIONS ${features} -DFZGM_BUILD_SHARED=${shared} -DFZGM_BUILD_STATIC=${static})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fzgm)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES fzgm AUTO_CLEAN)
endif()
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE" "${source}/THIRD_PARTY.md")
