# SPDX-License-Identifier: MIT
# Every bench/*_bench.cpp is a program of its own; a folder below bench/ may bring its own CMakeLists.txt.
file(GLOB benchmarks CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*_bench.cpp")
foreach(source IN LISTS benchmarks)
  cmake_path(GET source STEM name)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE tyto_internals tyto_flags)
endforeach()
tyto_subprojects(bench)
