# included by ggml/src/ggml-cpu/CMakeLists.txt, once per CPU variant: the CPU kernels of GGML_OP_H2O, and how its threads wait
set(H2O_DIR ${CMAKE_CURRENT_LIST_DIR}/..)

set(H2O_SOURCES
    ${H2O_DIR}/ops/cpu/h2o-amx.cpp
    ${H2O_DIR}/ops/cpu/h2o-attn-amx.cpp
    ${H2O_DIR}/ops/cpu/h2o-attn-blocks.cpp
    ${H2O_DIR}/ops/cpu/h2o-attn-int16.cpp
    ${H2O_DIR}/ops/cpu/h2o-attn-kernel.cpp
    ${H2O_DIR}/ops/cpu/h2o-cpu.cpp
    ${H2O_DIR}/ops/cpu/h2o-estimate.cpp
    ${H2O_DIR}/ops/cpu/h2o-index.cpp
    ${H2O_DIR}/ops/cpu/h2o-order.cpp
    ${H2O_DIR}/ops/cpu/h2o-query.cpp
    ${H2O_DIR}/ops/cpu/h2o-query-channels.cpp
    ${H2O_DIR}/ops/cpu/h2o-query-compare.cpp
    ${H2O_DIR}/ops/cpu/h2o-query-keys.cpp
    ${H2O_DIR}/ops/cpu/h2o-query-search.cpp
    ${H2O_DIR}/ops/cpu/h2o-query-sums.cpp
    ${H2O_DIR}/ops/cpu/h2o-select.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-decode-amx.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-decode-few.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-decode-many.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-decode-sparse.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-decode.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-sign-scores.cpp
    ${H2O_DIR}/ops/cpu/decode/h2o-signs.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-amx-weights.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-int8-weights.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-linear-amx.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-linear-int16.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-linear-int8.cpp
    ${H2O_DIR}/ops/cpu/linear/h2o-linear.cpp
    ${H2O_DIR}/../limits/limit-barrier.cpp
    )

target_sources(${GGML_CPU_NAME} PRIVATE ${H2O_SOURCES})

set_source_files_properties(${H2O_SOURCES} PROPERTIES COMPILE_OPTIONS "${H2O_ENGINE_WARNINGS}")

target_include_directories(${GGML_CPU_NAME} PRIVATE
    ${H2O_DIR}/ops/cpu ${H2O_DIR}/ops/cpu/decode ${H2O_DIR}/ops/cpu/linear ${H2O_DIR}/../limits)

if (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # its own AVX-512 header has such variables, on purpose
    set_property(SOURCE ${H2O_SOURCES} APPEND PROPERTY COMPILE_OPTIONS -Wno-maybe-uninitialized -Wno-uninitialized)
endif()

if (CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    # upstream's AMX kernels read words from blocks of 34 bytes, which x86 allows
    set_source_files_properties(ggml-cpu/amx/mmq.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=alignment)
endif()

if (tag_name STREQUAL "sapphirerapids")
    # every processor with AMX has it, upstream's list of features does not: decoding over an F16 cache takes half as long
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(-mavx512fp16 H2O_HAS_AVX512FP16)
    if (H2O_HAS_AVX512FP16)
        target_compile_options(${GGML_CPU_NAME} PRIVATE -mavx512fp16)
    endif()
endif()
