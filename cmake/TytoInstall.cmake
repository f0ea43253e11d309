# SPDX-License-Identifier: MIT
# Installation: headers, library, CMake package and a relocatable pkg-config file, in three components, which are
# the packages: tyto_library to run programs, tyto_development to build them, tyto_program for `tyto` itself; and one for
# each MPI, tyto_openmpi and tyto_mpich.
include(CMakePackageConfigHelpers)

install(TARGETS tyto EXPORT TytoTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tyto_library NAMELINK_COMPONENT tyto_development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tyto_development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tyto" "${TYTO_GENERATED_INCLUDE}/tyto"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT tyto_development FILES_MATCHING PATTERN "*.hpp" PATTERN "elementwise_names.def")
if(BUILD_SHARED_LIBS) # where gdb looks for what belongs to a library
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/libtyto-gdb.py" RENAME "libtyto.so.${PROJECT_VERSION}-gdb.py"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}" COMPONENT tyto_development)
endif()
if(NOT TYTO_PACKAGES) # which have them under the system's name for them
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT tyto_library)
endif()

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Tyto")
set(TYTO_IS_STATIC TRUE)
if(BUILD_SHARED_LIBS)
  set(TYTO_IS_STATIC FALSE)
endif()
install(EXPORT TytoTargets NAMESPACE tyto:: DESTINATION "${package}" COMPONENT tyto_development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/TytoConfig.cmake.in" "${PROJECT_BINARY_DIR}/TytoConfig.cmake"
  INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/TytoConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/TytoConfig.cmake" "${PROJECT_BINARY_DIR}/TytoConfigVersion.cmake"
  DESTINATION "${package}" COMPONENT tyto_development)

# The prefix is found from the file's own place, so an installed tree can be moved.
file(RELATIVE_PATH TYTO_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TYTO_PC_TO_PREFIX "${TYTO_PC_TO_PREFIX}")
set(private_libraries "${OpenMP_CXX_FLAGS} -lz")
if(CMAKE_DL_LIBS)
  string(APPEND private_libraries " -l${CMAKE_DL_LIBS}")
endif()
if(TYTO_HAVE_ONEDNN)
  string(APPEND private_libraries " -ldnnl")
endif()
if(TYTO_HAVE_OPENCL)
  string(APPEND private_libraries " -lOpenCL")
endif()
if(TYTO_HAVE_PNG)
  string(APPEND private_libraries " -lpng")
endif()
if(TYTO_HAVE_JPEG)
  string(APPEND private_libraries " -ljpeg")
endif()
set(TYTO_PC_LIBS "-ltyto")
set(TYTO_PC_LIBS_PRIVATE "")
if(TYTO_IS_STATIC)
  # Asking for a static library is the only way to link this copy, so what it needs is not private.
  string(APPEND TYTO_PC_LIBS " ${private_libraries}")
else()
  set(TYTO_PC_LIBS_PRIVATE "${private_libraries}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/tyto.pc.in" "${PROJECT_BINARY_DIR}/tyto.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tyto.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT tyto_development)

# The program writes its own manual page and completions, from the table that it reads options by. A program for another
# machine cannot be asked.
if(TARGET tyto_cli AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(manual "${PROJECT_BINARY_DIR}/tyto.1")
  set(completion "${PROJECT_BINARY_DIR}/tyto")
  add_custom_command(OUTPUT "${manual}" "${completion}.bash" "${completion}.zsh" "${completion}.fish"
    COMMAND tyto_cli manual > "${manual}"
    COMMAND tyto_cli completion bash > "${completion}.bash"
    COMMAND tyto_cli completion zsh > "${completion}.zsh"
    COMMAND tyto_cli completion fish > "${completion}.fish"
    DEPENDS tyto_cli VERBATIM)
  add_custom_target(tyto_manual ALL DEPENDS "${manual}" "${completion}.bash" "${completion}.zsh" "${completion}.fish")
  if(TARGET all_tests)
    add_dependencies(all_tests tyto_manual)  # they install the program, with all that belongs to it
  endif()
  set(shown "${manual}")
  if(TYTO_PACKAGES)
    set(shown "${manual}.gz")
    add_custom_command(OUTPUT "${shown}" COMMAND gzip -9nkf "${manual}" DEPENDS "${manual}" VERBATIM)
    add_custom_target(tyto_compressed_manual ALL DEPENDS "${shown}")
  endif()
  install(FILES "${shown}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tyto_program)
  install(FILES "${completion}.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME tyto
    COMPONENT tyto_program)
  install(FILES "${completion}.zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _tyto
    COMPONENT tyto_program)
  install(FILES "${completion}.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
    COMPONENT tyto_program)
endif()
