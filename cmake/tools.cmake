# llama.cpp's tools with H2O, and its test of single ops with our cases, in <build>/bin. llama-cli is not among them: build it
# from vendor/llama.cpp (patches/README.md).

add_executable(test-backend-ops vendor/llama.cpp/tests/test-backend-ops.cpp)
target_link_libraries(test-backend-ops PRIVATE ggml)
set_target_properties(test-backend-ops PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if (NOT MSVC)
    # most of the time to compile all this goes into these, and nothing in them is hot
    foreach (target llama-common mtmd server-context llama-server-impl cpp-httplib test-backend-ops)
        target_compile_options(${target} PRIVATE -O1)
    endforeach()
endif()

# the server is without its page, whose files are not in upstream's sources
add_custom_target(h2o_tools ALL DEPENDS
    llama-batched-bench llama-bench llama-completion llama-perplexity llama-server test-backend-ops)

if (H2O_BUILD_TESTS)
    # our cases only; they know their results, so one backend is enough
    add_test(NAME test-backend-ops        COMMAND test-backend-ops -b CPU -p h2o=)
    add_test(NAME test-backend-ops-no-amx COMMAND test-backend-ops -b CPU -p h2o=)
    set_tests_properties(test-backend-ops-no-amx PROPERTIES ENVIRONMENT H2O_AMX=0)
    add_test(NAME test-backend-ops-f32    COMMAND test-backend-ops -b CPU -p h2o=)
    set_tests_properties(test-backend-ops-f32    PROPERTIES ENVIRONMENT "H2O_AMX=0;H2O_INT8=0;H2O_INT16=0")
    set_tests_properties(test-backend-ops test-backend-ops-no-amx test-backend-ops-f32 PROPERTIES LABELS kernels)
endif()
