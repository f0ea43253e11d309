# SPDX-License-Identifier: MIT
# The target `docs` writes the generated pages under docs/; the tests hold them against the sources, NumPy and PyTorch.
tyto_sources(sources docs/generate)
if(sources)
  add_executable(tyto_docs_generator ${sources})
  target_link_libraries(tyto_docs_generator PRIVATE tyto_internals tyto_flags)
  target_compile_options(tyto_docs_generator PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  tyto_unity(tyto_docs_generator)
  add_custom_target(docs COMMAND tyto_docs_generator "${PROJECT_SOURCE_DIR}/docs" VERBATIM)
  add_dependencies(all_tests tyto_docs_generator)
  add_test(NAME docs.current COMMAND tyto_docs_generator --check "${PROJECT_SOURCE_DIR}/docs")
endif()

find_program(TYTO_PYTHON python3)
mark_as_advanced(TYTO_PYTHON)
if(TYTO_PYTHON)
  foreach(page IN ITEMS numpy pytorch)
    add_test(NAME docs.${page}_column
      COMMAND "${TYTO_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/docs/check_compared_page.py"
              "${PROJECT_SOURCE_DIR}/docs/${page}.md")
    set_tests_properties(docs.${page}_column PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()

# The site, where Doxygen is installed: it is written, and each of its links leads somewhere.
add_test(NAME docs.site COMMAND "${PROJECT_SOURCE_DIR}/docs/site/make.sh" "${PROJECT_BINARY_DIR}/site")
set_tests_properties(docs.site PROPERTIES SKIP_RETURN_CODE 77)

include(TytoExamples)
