# The target `docs` writes the generated pages under docs/ by running the program in docs/generate/.
tyto_sources(sources docs/generate)
if(sources)
  add_executable(tyto_docs_generator ${sources})
  target_link_libraries(tyto_docs_generator PRIVATE tyto_internals tyto_flags)
  add_custom_target(docs COMMAND tyto_docs_generator "${PROJECT_SOURCE_DIR}/docs" VERBATIM)
  add_test(NAME docs.current COMMAND tyto_docs_generator --check "${PROJECT_SOURCE_DIR}/docs")
endif()
