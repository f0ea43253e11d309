# SPDX-License-Identifier: MIT
# Headers that the build writes: the version, and the operator lists.
set(TYTO_GENERATED_INCLUDE "${PROJECT_BINARY_DIR}/include")

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.hpp.in" "${TYTO_GENERATED_INCLUDE}/tyto/version.hpp" @ONLY)

file(GLOB operator_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ops/*.def")
foreach(list IN LISTS operator_lists)
  cmake_path(GET list FILENAME name)
  configure_file("${list}" "${TYTO_GENERATED_INCLUDE}/tyto/ops/${name}" COPYONLY)
endforeach()

# The names and arities alone: what needs no more is not compiled again for another expression, gradient or description.
file(READ "${PROJECT_SOURCE_DIR}/ops/elementwise.def" operators)
string(REGEX MATCHALL "\nTYTO_(UNARY|BINARY|TERNARY)\\([a-z0-9_]+" names "${operators}")
list(JOIN names ")" names)
file(CONFIGURE OUTPUT "${TYTO_GENERATED_INCLUDE}/tyto/ops/elementwise_names.def" CONTENT
"// The element-wise operators by number of operands, in the order of ops/elementwise.def, from which the build wrote this.${names})
" @ONLY)
