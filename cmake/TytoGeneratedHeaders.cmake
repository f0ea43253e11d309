# Headers that the build writes: the version, and the operator lists that the public headers expand.
set(TYTO_GENERATED_INCLUDE "${PROJECT_BINARY_DIR}/include")

configure_file("${PROJECT_SOURCE_DIR}/cmake/version.hpp.in" "${TYTO_GENERATED_INCLUDE}/tyto/version.hpp" @ONLY)

file(GLOB operator_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ops/*.def")
foreach(list IN LISTS operator_lists)
  cmake_path(GET list FILENAME name)
  configure_file("${list}" "${TYTO_GENERATED_INCLUDE}/tyto/ops/${name}" COPYONLY)
endforeach()
