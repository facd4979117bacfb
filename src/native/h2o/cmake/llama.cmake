# included by src/CMakeLists.txt: the method, and limits on tokenizers and grammars
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

set(H2O_SOURCES
    ${H2O_DIR}/context/h2o-cost.cpp
    ${H2O_DIR}/context/h2o-coverage.cpp
    ${H2O_DIR}/context/h2o-exact.cpp
    ${H2O_DIR}/context/h2o-families.cpp
    ${H2O_DIR}/context/h2o-hooks.cpp
    ${H2O_DIR}/context/h2o-params.cpp
    ${H2O_DIR}/context/h2o-probe.cpp
    ${H2O_DIR}/context/h2o-record.cpp
    ${H2O_DIR}/memory/h2o-cache-hybrid.cpp
    ${H2O_DIR}/memory/h2o-cache-iswa.cpp
    ${H2O_DIR}/memory/h2o-cache-kv.cpp
    ${H2O_DIR}/memory/h2o-cache.cpp
    ${H2O_DIR}/memory/h2o-call.cpp
    ${H2O_DIR}/memory/h2o-debug.cpp
    ${H2O_DIR}/memory/h2o-device.cpp
    ${H2O_DIR}/memory/h2o-kv-size.cpp
    ${H2O_DIR}/memory/h2o-recurrent.cpp
    ${H2O_DIR}/memory/h2o-state.cpp
    ${H2O_DIR}/method/h2o-block-composed.cpp
    ${H2O_DIR}/method/h2o-block-fused.cpp
    ${H2O_DIR}/method/h2o-block.cpp
    ${H2O_DIR}/method/h2o-chain.cpp
    ${H2O_DIR}/method/h2o-graph-input.cpp
    ${H2O_DIR}/method/h2o-mass.cpp
    ${H2O_DIR}/method/h2o-plan.cpp
    ${H2O_DIR}/method/h2o-policies.cpp
    ${H2O_DIR}/method/h2o-policy-query-device.cpp
    ${H2O_DIR}/method/h2o-policy-query.cpp
    ${H2O_DIR}/method/h2o-policy-votes.cpp
    ${H2O_DIR}/method/h2o-store.cpp
    ${H2O_DIR}/method/h2o-trace.cpp
    ${H2O_DIR}/method/h2o-two-pass.cpp
    ${H2O_DIR}/method/h2o-view.cpp
    ${H2O_DIR}/../limits/limit-grammar.cpp
    ${H2O_DIR}/../limits/limit-regex.cpp
    ${H2O_DIR}/../limits/limit-split.cpp
    ${H2O_DIR}/../limits/limit-work.cpp
    )

target_sources(llama PRIVATE ${H2O_SOURCES})

set_source_files_properties(${H2O_SOURCES} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_OPTIONS "${H2O_ENGINE_WARNINGS}")

target_include_directories(llama PUBLIC
    ${H2O_DIR} ${H2O_DIR}/method ${H2O_DIR}/memory ${H2O_DIR}/context ${H2O_DIR}/../limits)
