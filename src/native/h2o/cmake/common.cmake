# included by common/CMakeLists.txt: the options of llama.cpp's tools, what they log, and limits on chat templates
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

set(H2O_SOURCES
    ${H2O_DIR}/tools/h2o-arg.cpp
    ${H2O_DIR}/tools/h2o-batch-parts.cpp
    ${H2O_DIR}/tools/h2o-tools.cpp
    ${H2O_DIR}/../limits/limit-jinja.cpp
    )

target_sources(${TARGET} PRIVATE ${H2O_SOURCES})

set_source_files_properties(${H2O_SOURCES} PROPERTIES COMPILE_OPTIONS "${H2O_ENGINE_WARNINGS}")

target_include_directories(${TARGET} PUBLIC ${H2O_DIR}/tools)
