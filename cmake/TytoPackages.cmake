# SPDX-License-Identifier: MIT
# Packages of Debian and Ubuntu: libtyto, libtyto-dev and tyto-tools by `cpack -G DEB`; `./dev package` builds and tests
# them.
set(TYTO_PACKAGE_CONTACT "The Tyto maintainers <maintainers@tyto.invalid>" CACHE STRING "Who answers for the packages")

set(library_package "libtyto${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_PACKAGE_NAME tyto)
set(CPACK_PACKAGE_VENDOR Tyto)
set(CPACK_PACKAGE_CONTACT "${TYTO_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "lazy tensor engine with planned memory")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tyto_library tyto_development tyto_program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(same_version "${library_package} (= ${PROJECT_VERSION})")
set(about "Numerical programs after NumPy run line by line or as graphs that are\noptimised and whose memory is planned before anything runs, on processors\nand OpenCL devices.")
set(CPACK_DEBIAN_TYTO_LIBRARY_PACKAGE_NAME "${library_package}")
set(CPACK_DEBIAN_TYTO_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TYTO_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packages/triggers" "${PROJECT_BINARY_DIR}/packages/shlibs")
set(CPACK_DEBIAN_TYTO_LIBRARY_DESCRIPTION "${about}\n.\nThis package runs programs that use it.")
set(CPACK_DEBIAN_TYTO_DEVELOPMENT_PACKAGE_NAME libtyto-dev)
set(CPACK_DEBIAN_TYTO_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TYTO_DEVELOPMENT_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_TYTO_DEVELOPMENT_DESCRIPTION "${about}\n.\nThis package builds programs that use it.")
set(CPACK_DEBIAN_TYTO_PROGRAM_PACKAGE_NAME tyto-tools)
set(CPACK_DEBIAN_TYTO_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TYTO_PROGRAM_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_TYTO_PROGRAM_DESCRIPTION "${about}\n.\nThis package holds the program tyto.")

# What Debian asks of each package: its licences, and its changes in Debian's form.
set(folder "${PROJECT_BINARY_DIR}/packages")
file(READ "${PROJECT_SOURCE_DIR}/LICENSE" licence)
file(READ "${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES" notices)
file(WRITE "${folder}/copyright" "${licence}\n\n${notices}\n"
  "On Debian systems the GNU General Public License, version 3, is in /usr/share/common-licenses/GPL-3.\n")
file(WRITE "${folder}/triggers" "activate-noawait ldconfig\n")
file(WRITE "${folder}/shlibs"
  "libtyto ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} ${library_package} (>= ${PROJECT_VERSION})\n")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${folder}/changelog" "tyto (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n"
  " -- ${TYTO_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9nf "${folder}/changelog" COMMAND_ERROR_IS_FATAL ANY)
set(names "${library_package}" libtyto-dev tyto-tools)
foreach(component package IN ZIP_LISTS CPACK_COMPONENTS_ALL names)
  install(FILES "${folder}/copyright" "${folder}/changelog.gz" DESTINATION "share/doc/${package}" COMPONENT ${component})
endforeach()
include(CPack)
