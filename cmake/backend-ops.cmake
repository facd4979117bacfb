# llama.cpp's test of single ops, with our cases alone; they know their results, so one backend is enough.

add_executable(test-backend-ops EXCLUDE_FROM_ALL vendor/llama.cpp/tests/test-backend-ops.cpp)
target_link_libraries(test-backend-ops PRIVATE ggml)
set_target_properties(test-backend-ops PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if (NOT MSVC)
    target_compile_options(test-backend-ops PRIVATE -O1) # most of the time goes into compiling it
endif()

add_test(NAME test-backend-ops        COMMAND test-backend-ops -b CPU -p h2o=)
add_test(NAME test-backend-ops-no-amx COMMAND test-backend-ops -b CPU -p h2o=)
set_tests_properties(test-backend-ops-no-amx PROPERTIES ENVIRONMENT H2O_AMX=0)
add_test(NAME test-backend-ops-f32    COMMAND test-backend-ops -b CPU -p h2o=)
set_tests_properties(test-backend-ops-f32    PROPERTIES ENVIRONMENT "H2O_AMX=0;H2O_INT8=0;H2O_INT16=0")
set_tests_properties(test-backend-ops test-backend-ops-no-amx test-backend-ops-f32 PROPERTIES LABELS kernels)
