# included by ggml/src/ggml-cpu/CMakeLists.txt, once per CPU variant: the CPU kernels of GGML_OP_H2O
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

target_sources(${GGML_CPU_NAME} PRIVATE
    ${H2O_DIR}/ops/cpu/h2o-attn-kernel.cpp
    ${H2O_DIR}/ops/cpu/h2o-barrier.cpp
    ${H2O_DIR}/ops/cpu/h2o-cpu.cpp
    ${H2O_DIR}/ops/cpu/h2o-select.cpp
    )

target_include_directories(${GGML_CPU_NAME} PRIVATE ${H2O_DIR}/ops/cpu)
