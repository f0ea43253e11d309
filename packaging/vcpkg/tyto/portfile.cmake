# SPDX-License-Identifier: MIT
# An overlay port that builds the sources that it lies in: vcpkg install tyto --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    eigen TYTO_EIGEN
    jit TYTO_JIT
    opencl TYTO_OPENCL
    pictures TYTO_PNG
    pictures TYTO_JPEG)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${feature_options}
  -DTYTO_ONEDNN=OFF -DTYTO_CBC=OFF -DTYTO_MPI=OFF -DTYTO_TESTS=OFF -DTYTO_EXAMPLES=OFF -DTYTO_BENCH=OFF -DTYTO_CLI=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Tyto CONFIG_PATH lib/cmake/Tyto)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/THIRD_PARTY_NOTICES")
