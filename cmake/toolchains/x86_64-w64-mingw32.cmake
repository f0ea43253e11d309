# SPDX-License-Identifier: MIT
# Windows from Linux: mingw-w64 with POSIX threads, as Debian and Ubuntu package it, programs run by wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
find_program(TYTO_WINE NAMES wine64 wine PATHS /usr/lib/wine)
set(CMAKE_CROSSCOMPILING_EMULATOR /usr/bin/env;WINEDEBUG=-all;WINEPREFIX=${CMAKE_BINARY_DIR}/wine;${TYTO_WINE})

# Programs carry the libraries of the compiler, and run wherever they are copied to.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(ZLIB_USE_STATIC_LIBS ON)
set(OpenMP_gomp_LIBRARY gomp CACHE STRING "The static one")

# Packages that are headers alone serve any system; copies of them stand apart from the headers of this system's C library.
set(headers "${CMAKE_BINARY_DIR}/headers_alone")
get_property(tries_something GLOBAL PROPERTY IN_TRY_COMPILE)
foreach(entry IN ITEMS include/doctest include/eigen3 include/nlohmann include/xbyak lib/cmake/doctest share/cmake/nlohmann_json share/eigen3)
  cmake_path(GET entry PARENT_PATH parent)
  if(EXISTS "/usr/${entry}" AND NOT tries_something)
    file(COPY "/usr/${entry}" DESTINATION "${headers}/${parent}")
  endif()
endforeach()
set(targets "${headers}/lib/cmake/doctest/doctestTargets.cmake")
if(EXISTS "${targets}")  # names its folder
  file(READ "${targets}" text)
  string(REPLACE "(_IMPORT_PREFIX \"/usr\")" "(_IMPORT_PREFIX \"${headers}\")" text "${text}")
  file(WRITE "${targets}" "${text}")
endif()
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 "${headers}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
