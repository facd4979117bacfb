# included by ggml/src/ggml-cuda/CMakeLists.txt: the CUDA kernels of GGML_OP_H2O
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

target_sources(ggml-cuda PRIVATE
    ${H2O_DIR}/ops/cuda/h2o-attn.cu
    ${H2O_DIR}/ops/cuda/h2o-attn-mma.cu
    ${H2O_DIR}/ops/cuda/h2o-attn-plain.cu
    ${H2O_DIR}/ops/cuda/h2o-cuda.cu
    ${H2O_DIR}/ops/cuda/h2o-estimate.cu
    ${H2O_DIR}/ops/cuda/h2o-index.cu
    ${H2O_DIR}/ops/cuda/h2o-order.cu
    ${H2O_DIR}/ops/cuda/h2o-query.cu
    ${H2O_DIR}/ops/cuda/h2o-select.cu
    )

target_include_directories(ggml-cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
