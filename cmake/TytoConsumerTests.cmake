# SPDX-License-Identifier: MIT
# Tests that build other people's projects: the consumer in three ways, and each example, against an installed copy.
if(TYTO_SANITIZE OR NOT TYTO_INSTALL)
  return()
endif()
set(consumer "${PROJECT_SOURCE_DIR}/tests/consumer")
set(work "${PROJECT_BINARY_DIR}/consumer")
set(prefix "${work}/installed")
set(build_and_test "${CMAKE_CTEST_COMMAND}" --build-noclean --build-generator "${CMAKE_GENERATOR}")
# The launcher may be a command of several words, and stays one argument.
string(REPLACE ";" "\\;" launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
set(same_tools "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")

add_test(NAME consumer.install COMMAND "${consumer}/install_and_move.sh"
  "${CMAKE_COMMAND}" "${PROJECT_BINARY_DIR}" $<CONFIG> "${prefix}")
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP installed)

add_test(NAME consumer.find_package COMMAND ${build_and_test} --build-and-test "${consumer}" "${work}/find_package"
  --build-options ${same_tools} "-DCMAKE_PREFIX_PATH=${prefix}" --test-command consumer)

add_test(NAME consumer.pkg_config COMMAND "${consumer}/build_with_pkg_config.sh"
  "${CMAKE_CXX_COMPILER}" "${prefix}" "${CMAKE_INSTALL_LIBDIR}" "${work}/pkg_config/consumer")
set_tests_properties(consumer.pkg_config PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "CXXFLAGS=${CMAKE_CXX_FLAGS}")
set_tests_properties(consumer.find_package consumer.pkg_config PROPERTIES FIXTURES_REQUIRED installed)

# Tyto as a part of another project, built by the same options: what the same command has compiled here is taken from
# here, which shows that it is the same, and the rest is compiled.
set(same_options "-DCMAKE_BUILD_TYPE=$<CONFIG>")
foreach(option IN ITEMS CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_RELEASE CMAKE_CXX_FLAGS_DEBUG BUILD_SHARED_LIBS TYTO_UNITY TYTO_PRECOMPILE
    TYTO_UNITY_BATCH TYTO_OPTIMISATION TYTO_NATIVE TYTO_INSTRUCTION_SETS TYTO_WERROR TYTO_OPENCL TYTO_ONEDNN TYTO_EIGEN TYTO_CBC TYTO_PNG TYTO_JPEG TYTO_JIT TYTO_MPI)
  list(APPEND same_options "-D${option}=${${option}}")
endforeach()
string(REPLACE ";" "\\;" taking "${consumer}/take_objects.sh;${PROJECT_BINARY_DIR};tyto")
set(taking_tools "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${taking}")
add_test(NAME consumer.add_subdirectory COMMAND ${build_and_test}
  --build-and-test "${consumer}" "${work}/add_subdirectory"
  --build-options ${taking_tools} "-DCONSUMER_TYTO_SOURCE=${PROJECT_SOURCE_DIR}" ${same_options}
  --test-command consumer)
# A project that has Tyto as a part installs its own files alone, unless it asks for Tyto's too (TYTO_INSTALL).
add_test(NAME consumer.install_of_parent COMMAND "${consumer}/check_install_of_parent.sh"
  "${CMAKE_COMMAND}" "${work}/add_subdirectory" $<CONFIG> "${work}/install_of_parent")
set_tests_properties(consumer.add_subdirectory PROPERTIES FIXTURES_SETUP parent)
set_tests_properties(consumer.install_of_parent PROPERTIES FIXTURES_REQUIRED parent)

file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/CMakeLists.txt")
foreach(example IN LISTS examples)
  cmake_path(GET example PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  add_test(NAME consumer.example.${name} COMMAND ${build_and_test} --build-and-test "${folder}" "${work}/example_${name}"
    --build-options ${same_tools} "-DCMAKE_PREFIX_PATH=${prefix}")
  set_tests_properties(consumer.example.${name} PROPERTIES FIXTURES_REQUIRED installed)
endforeach()
