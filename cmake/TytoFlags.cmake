# SPDX-License-Identifier: MIT
# The warnings, sanitizers and processor choice that all our own code is compiled with.
add_library(tyto_flags INTERFACE)
# As in g++, -Wconversion is without conversions of sign. What a name hides clang also looks for in the other files of a
# batch; `./dev lint` compiles each alone. `|` between truths is meant: loops without branches become vectors, if
# not all of those that ask for it with clang.
target_compile_options(tyto_flags INTERFACE -Wall -Wextra -Wpedantic
  $<$<NOT:$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${TYTO_UNITY}>>>:-Wshadow> -Wconversion
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  "$<$<CXX_COMPILER_ID:Clang>:-Wno-bitwise-instead-of-logical;-Wno-pass-failed>"
  $<$<BOOL:${TYTO_WERROR}>:-Werror>)

# g++ 12 sees overlapping copies in plain string concatenation (its bug 105651) once it optimises.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tyto_flags INTERFACE -Wno-restrict)
endif()

# g++ collects garbage whenever its heap has grown by a third; beginning at half a gigabyte spares large files a tenth of
# their time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tyto_flags INTERFACE --param=ggc-min-heapsize=524288)
endif()

if(TYTO_NATIVE)
  target_compile_options(tyto_flags INTERFACE -march=native)
endif()

# Sanitizers must reach every object and every link, test programs included.
if(TYTO_SANITIZE)
  add_compile_options(-fsanitize=${TYTO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TYTO_SANITIZE})
endif()
