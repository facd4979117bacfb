# The benchmark's native programs, on the tree that was added (target `llama`).
#
#   h2o_add_bench(NAME [H2O])   prefill-bench. Twice the same program: stock-bench on the unpatched pin
#                               (test/parity/stock), h2o-bench with the option H2O on the patched tree
#   h2o_add_kernel_bench(NAME)  attn-bench, decode-bench, linear-bench: on the patched tree, beside the machine's peak

set(H2O_BENCH_DIR ${CMAKE_CURRENT_LIST_DIR})

function(h2o_add_bench_program NAME)
    add_executable(${NAME} EXCLUDE_FROM_ALL)
    target_compile_features(${NAME} PRIVATE cxx_std_17)
    target_link_libraries  (${NAME} PRIVATE llama)
    set_target_properties  (${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/$<0:>)
    if (NOT MSVC)
        target_compile_options(${NAME} PRIVATE -Wall -Wextra -Werror)
    endif()
endfunction()

function(h2o_add_bench NAME)
    h2o_add_bench_program(${NAME})
    target_sources(${NAME} PRIVATE ${H2O_BENCH_DIR}/prefill-bench.cpp ${H2O_BENCH_DIR}/profile.cpp)
    if ("H2O" IN_LIST ARGN)
        target_compile_definitions(${NAME} PRIVATE BENCH_H2O)
    endif()
endfunction()

function(h2o_add_kernel_bench NAME)
    h2o_add_bench_program(${NAME})
    target_sources(${NAME} PRIVATE ${H2O_BENCH_DIR}/${NAME}.cpp ${H2O_BENCH_DIR}/fma-peak.cpp)
    set_source_files_properties(${H2O_BENCH_DIR}/fma-peak.cpp PROPERTIES COMPILE_OPTIONS "-O3;-march=native")
    find_package(Threads REQUIRED)
    target_link_libraries(${NAME} PRIVATE Threads::Threads)
endfunction()
