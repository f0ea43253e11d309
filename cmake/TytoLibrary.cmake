# SPDX-License-Identifier: MIT
# The one library, tyto::tyto, put together from the object targets of the folders.
get_property(TYTO_OBJECT_TARGETS GLOBAL PROPERTY TYTO_OBJECT_TARGETS)
set(objects "")
foreach(target IN LISTS TYTO_OBJECT_TARGETS)
  list(APPEND objects $<TARGET_OBJECTS:${target}>)
endforeach()
set(TYTO_LINKED OpenMP::OpenMP_CXX ZLIB::ZLIB ${TYTO_ONEDNN_TARGETS} ${TYTO_VIXL_LINKED} ${TYTO_OPENCL_TARGETS} ${TYTO_IMAGE_TARGETS} ${CMAKE_DL_LIBS})

set(TYTO_INSTALL_RPATH "$ORIGIN/${bin_to_lib}")

add_library(tyto ${objects})
add_library(tyto::tyto ALIAS tyto)
set_target_properties(tyto PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINKER_LANGUAGE CXX)
target_compile_features(tyto PUBLIC cxx_std_20)
target_include_directories(tyto PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${TYTO_GENERATED_INCLUDE}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tyto PRIVATE ${TYTO_LINKED})
# Calls within the library go straight to their target, not through the table that lets others replace it.
if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(tyto PRIVATE "LINKER:-Bsymbolic-functions")
endif()

# Tests and benchmarks of internal code cannot reach hidden symbols of a shared library, so they link these objects
# from an archive that is never installed.
if(TYTO_TESTS OR TYTO_BENCH)
  tyto_view(internals view core engine ops numerics optimiser devices nn io onnx distributed tests bench docs/generate)
  add_library(tyto_internals STATIC ${objects})
  set_target_properties(tyto_internals PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(tyto_internals INTERFACE
    "${view}" "${PROJECT_SOURCE_DIR}/include" "${TYTO_GENERATED_INCLUDE}")
  # OpenMP's compiler options would keep tests from sharing a precompiled header.
  list(TRANSFORM TYTO_LINKED REPLACE "^OpenMP::OpenMP_CXX$" "$<LINK_ONLY:OpenMP::OpenMP_CXX>" OUTPUT_VARIABLE linked)
  target_link_libraries(tyto_internals INTERFACE tyto_build_facts ${linked})
endif()
