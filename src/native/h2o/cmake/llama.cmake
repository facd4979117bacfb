# included by src/CMakeLists.txt: the method
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

set(H2O_SOURCES
    ${H2O_DIR}/h2o-attn.cpp
    ${H2O_DIR}/h2o-budget.cpp
    ${H2O_DIR}/h2o-coverage.cpp
    ${H2O_DIR}/h2o-debug.cpp
    ${H2O_DIR}/h2o-experiments.cpp
    ${H2O_DIR}/h2o-graph-input.cpp
    ${H2O_DIR}/h2o-hooks.cpp
    ${H2O_DIR}/h2o-kv-cache.cpp
    ${H2O_DIR}/h2o-names.cpp
    ${H2O_DIR}/h2o-session.cpp
    ${H2O_DIR}/h2o-state.cpp
    ${H2O_DIR}/h2o-tokenize.cpp
    ${H2O_DIR}/h2o-trace-mass.cpp
    )

target_sources(llama PRIVATE ${H2O_SOURCES})

set_source_files_properties(${H2O_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

target_include_directories(llama PUBLIC ${H2O_DIR})
