# SPDX-License-Identifier: MIT
# Kernel sources are compiled for the instruction set their name ends in: x.baseline.cpp, x.avx2.cpp, x.avx512.cpp. Of
# x.sets.cpp the build writes one for each set, which includes it with TYTO_ISA, the set's name, and TYTO_VECTOR_BYTES,
# the length of its vectors.
set(TYTO_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi2)
if(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes stacks there to be aligned for wider vectors than they are (its bug 54412).
  list(APPEND TYTO_AVX2_FLAGS -Wa,-muse-unaligned-vector-move)
endif()
set(TYTO_AVX512_FLAGS ${TYTO_AVX2_FLAGS} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512)

set(TYTO_BASELINE_FLAGS)

set(TYTO_HAVE_X86_ISA FALSE)
if(TYTO_ARCHITECTURE STREQUAL "x86_64")
  set(TYTO_HAVE_X86_ISA TRUE)
  target_compile_definitions(tyto_build_facts INTERFACE TYTO_HAVE_X86_ISA=1)
endif()

# The only set to compile kernels for; empty where they are compiled for all.
set(TYTO_ONLY_SET "")
if(NOT TYTO_HAVE_X86_ISA)
  set(TYTO_ONLY_SET baseline)
elseif(TYTO_INSTRUCTION_SETS STREQUAL "native")
  set(CMAKE_REQUIRED_FLAGS -march=native)
  check_cxx_source_compiles("
    #if !(__AVX2__ && __FMA__ && __F16C__ && __BMI2__)
    #error
    #endif
    int main() {}" TYTO_PROCESSOR_HAS_AVX2)
  check_cxx_source_compiles("
    #if !(__AVX512F__ && __AVX512CD__ && __AVX512DQ__ && __AVX512BW__ && __AVX512VL__)
    #error
    #endif
    int main() {}" TYTO_PROCESSOR_HAS_AVX512)
  unset(CMAKE_REQUIRED_FLAGS)
  set(TYTO_ONLY_SET baseline)
  if(TYTO_PROCESSOR_HAS_AVX2)
    set(TYTO_ONLY_SET avx2)
    if(TYTO_PROCESSOR_HAS_AVX512)
      set(TYTO_ONLY_SET avx512)
    endif()
  endif()
elseif(NOT TYTO_INSTRUCTION_SETS STREQUAL "all")
  message(FATAL_ERROR "TYTO_INSTRUCTION_SETS is all or native, not '${TYTO_INSTRUCTION_SETS}'")
endif()

# Only processors without AVX2 take the baseline where there are other sets: it is kept small.
set(TYTO_SMALL_BASELINE FALSE)
if(TYTO_HAVE_X86_ISA AND NOT TYTO_ONLY_SET STREQUAL "baseline")
  set(TYTO_SMALL_BASELINE TRUE)
  set(TYTO_BASELINE_FLAGS $<$<NOT:$<CONFIG:Debug>>:-Os>)
endif()

# Errno and trapping are given up because they forbid vectorising; results stay IEEE (no -ffast-math).
set(TYTO_IEEE_LOOPS -fno-math-errno -fno-trapping-math)

# Kernels are optimised in every build: a debug build that takes minutes for one convolution helps nobody. Their loops
# are vectorised, those of no instruction set with versions for a stride of one; the rest of -O3 is for the families
# below (ADR 152).
set(TYTO_KERNEL_FLAGS $<IF:$<CONFIG:Debug>,-O1,-O2> ${TYTO_IEEE_LOOPS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TYTO_KERNEL_FLAGS -fvect-cost-model=dynamic -fversion-loops-for-strides)
  if(TYTO_HAVE_X86_ISA AND (TYTO_NATIVE OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13))
    # For some processors, and since g++ 13 for all, the compiler keeps additions of a chain apart from their
    # multiplications: the same product would have other bits in another loop.
    list(APPEND TYTO_KERNEL_FLAGS --param=avoid-fma-max-bits=0)
  endif()
endif()

# Families whose loops hold vectors in registers, which takes unrolling, and those that are faster peeled and unswitched
# too.
set(TYTO_UNROLLED_FAMILIES compaction quantised_loops row_loops unpacked_product tile vector_loops)
set(TYTO_PEELED_FAMILIES moments sort_loops)

# Flags of the loops that kernels are measured against: plain ones, and those for the machine that it runs on.
set(TYTO_PLAIN_FLAGS $<IF:$<CONFIG:Debug>,-O1,-O3> ${TYTO_IEEE_LOOPS})
set(TYTO_YARDSTICK_FLAGS ${TYTO_PLAIN_FLAGS} -march=native)
if(TYTO_HAVE_X86_ISA)
  list(APPEND TYTO_YARDSTICK_FLAGS -mprefer-vector-width=512)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # g++ 12 takes AVX-512 intrinsics for uninitialised reads
  list(APPEND TYTO_YARDSTICK_FLAGS -Wno-maybe-uninitialized -Wno-uninitialized)
endif()

# Sources with options of their own cannot share a translation unit or a precompiled header with others.
function(tyto_source_options source)
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "${ARGN}"
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Gives the sources named for an instruction set its flags, and those in ARGN besides; without the set they are left out.
function(tyto_instruction_set_flags sources)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.baseline\\.cpp$")
      tyto_source_options("${source}" ${TYTO_BASELINE_FLAGS} ${ARGN})
    elseif(source MATCHES "\\.(avx2|avx512)\\.cpp$")
      if(TYTO_HAVE_X86_ISA)
        string(TOUPPER "${CMAKE_MATCH_1}" set)
        tyto_source_options("${source}" ${TYTO_${set}_FLAGS} ${ARGN})
      else()
        set_source_files_properties("${source}" PROPERTIES HEADER_FILE_ONLY ON)
      endif()
    endif()
  endforeach()
endfunction()

set(TYTO_VECTOR_BYTES_baseline 16)
set(TYTO_VECTOR_BYTES_avx2 32)
set(TYTO_VECTOR_BYTES_avx512 64)

# tyto_write_sets(<out> [ALL] <source>...): replaces x.sets.cpp among the sources of a folder by those of the sets that are
# compiled, or of all. Tile loops have none for AVX-512: wider vectors of single operators are the business of machine
# code.
function(tyto_write_sets out)
  cmake_parse_arguments(PARSE_ARGV 1 given "ALL" "" "")
  set(sources ${given_UNPARSED_ARGUMENTS})
  list(FILTER sources EXCLUDE REGEX "\\.sets\\.cpp$")
  foreach(source IN LISTS given_UNPARSED_ARGUMENTS)
    if(NOT source MATCHES "\\.sets\\.cpp$")
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    set(sets baseline)
    if(TYTO_HAVE_X86_ISA)
      list(APPEND sets avx2)
      if(NOT path MATCHES "/tile_loops/")
        list(APPEND sets avx512)
      endif()
    endif()
    if(TYTO_ONLY_SET AND NOT given_ALL)
      if(TYTO_ONLY_SET IN_LIST sets)
        set(sets ${TYTO_ONLY_SET})
      else()
        list(GET sets -1 sets)  # the next narrower
      endif()
    endif()
    foreach(set IN LISTS sets)
      string(REGEX REPLACE "sets\\.cpp$" "${set}.cpp" written "${PROJECT_BINARY_DIR}/sets/${path}")
      file(CONFIGURE OUTPUT "${written}" CONTENT
        "#define TYTO_ISA ${set}\n#define TYTO_VECTOR_BYTES ${TYTO_VECTOR_BYTES_${set}}\n#include \"${path}\"  // NOLINT(bugprone-suspicious-include)\n" @ONLY)
      list(APPEND sources "${written}")
    endforeach()
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# The options of one source of kernels besides its target's.
function(tyto_family_flags source out)
  set(flags "")
  cmake_path(GET source FILENAME file)
  string(REGEX MATCH "^[^.]*" family "${file}")
  if(family IN_LIST TYTO_UNROLLED_FAMILIES OR family IN_LIST TYTO_PEELED_FAMILIES)
    if(NOT (TYTO_SMALL_BASELINE AND file MATCHES "\\.baseline\\.cpp$"))
      list(APPEND flags $<$<NOT:$<CONFIG:Debug>>:-O3>)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Loops of an instruction set have a version for a stride of one where it pays, written by hand.
    list(APPEND flags -fno-version-loops-for-strides)
    if(family IN_LIST TYTO_UNROLLED_FAMILIES)
      list(APPEND flags -fno-peel-loops -fno-split-loops -fno-unswitch-loops)
    endif()
  endif()
  # The same seed gives the same numbers on every processor: products and sums are rounded one by one everywhere. So they
  # are in operators' expressions, as in the code that is recorded from them; these are written for every type, and
  # integers wrap.
  string(REPLACE "${PROJECT_BINARY_DIR}/sets/" "" path "${source}")
  string(REPLACE "${PROJECT_SOURCE_DIR}/" "" path "${path}")
  if(path MATCHES "/random_loops\\.|/tile_loops/")
    list(APPEND flags -ffp-contract=off)
  endif()
  if(path MATCHES "/tile_loops/")
    list(APPEND flags -fwrapv)
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

function(tyto_kernel_flags folder)
  tyto_target_name(${folder} target)
  if(NOT TARGET ${target})
    return()
  endif()
  target_compile_options(${target} PRIVATE ${TYTO_KERNEL_FLAGS})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    tyto_family_flags("${source}" flags)
    tyto_instruction_set_flags("${source}" ${flags})
  endforeach()
  tyto_source_options(devices/cpu/device/compiled_sets.cpp)  # alone, so that the choice of sets compiles no other file anew
  if(TYTO_ONLY_SET)
    set_source_files_properties(devices/cpu/device/compiled_sets.cpp PROPERTIES COMPILE_DEFINITIONS TYTO_ONLY_SET=${TYTO_ONLY_SET})
  endif()
endfunction()
