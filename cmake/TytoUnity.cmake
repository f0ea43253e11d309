# SPDX-License-Identifier: MIT
# Fewer translation units: the sources of a target compiled several at a time, standard headers parsed once
# (docs/adr/0021). With TYTO_UNITY and TYTO_PRECOMPILE off, each file is compiled alone and from its own includes.
set(TYTO_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <concepts> <cstddef> <cstdint> <cstring> <functional>
  <initializer_list> <iterator> <limits> <map> <memory> <mutex> <numeric> <optional> <ostream> <set> <span> <sstream>
  <stdexcept> <string> <string_view> <tuple> <type_traits> <unordered_map> <unordered_set> <utility> <variant> <vector>)

# So many files at a time that the headers which they share weigh little, and so few that every processor has its part;
# who works on few files takes fewer.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR files_for_each "96 / ${processors}")
if(files_for_each LESS 12)
  set(files_for_each 12)
elseif(files_for_each GREATER 48)
  set(files_for_each 48)
endif()
set(TYTO_UNITY_BATCH ${files_for_each} CACHE STRING "How many files are compiled at a time, where TYTO_UNITY is on")
mark_as_advanced(TYTO_UNITY_BATCH)

# tyto_precompile(<target> [<owner>] [HEADERS <more headers>]): the headers come precompiled, from the owner's copy where
# one is named; its options must be the target's. Sources with options of their own go without.
function(tyto_precompile target)
  if(NOT TYTO_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
  if(arg_UNPARSED_ARGUMENTS)
    target_precompile_headers(${target} REUSE_FROM ${arg_UNPARSED_ARGUMENTS})
  else()
    target_precompile_headers(${target} PRIVATE ${TYTO_STANDARD_HEADERS} ${arg_HEADERS})
  endif()
endfunction()

# tyto_unity(<target> [FAMILIES] [MOST <files>]): compiles the sources of a target several at a time, at most so many. With
# FAMILIES, none together with those of another sub-folder, so that sub-folders may use the same names.
function(tyto_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAMILIES" "MOST" "")
  set(most ${TYTO_UNITY_BATCH})
  if(arg_MOST AND arg_MOST LESS most)
    set(most ${arg_MOST})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TYTO_UNITY} UNITY_BUILD_BATCH_SIZE ${most})
  if(NOT arg_FAMILIES)
    return()
  endif()
  # In a batch every source is an included file, whose anonymous namespace g++ takes for a header's.
  if(TYTO_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "\\.(baseline|avx2|avx512)\\.cpp$")  # these have options of their own
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME family)
    math(EXPR batch "${files_of_${family}} + 0" OUTPUT_FORMAT DECIMAL)
    math(EXPR files_of_${family} "${batch} + 1")
    math(EXPR batch "${batch} / ${most}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${family}_${batch})
  endforeach()
endfunction()
