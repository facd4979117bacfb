# included by ggml/src/CMakeLists.txt: the graph constructors of GGML_OP_H2O
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

target_sources(ggml-base PRIVATE ${H2O_DIR}/ops/ggml-h2o.cpp)

set_source_files_properties(${H2O_DIR}/ops/ggml-h2o.cpp PROPERTIES COMPILE_OPTIONS "${H2O_ENGINE_WARNINGS}")
