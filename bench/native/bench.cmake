# h2o_add_bench(NAME [H2O]): prefill-bench on the tree that was added (target `llama`). Twice the same program: stock-bench
# on the unpatched pin (test/parity/stock), h2o-bench with the option H2O on the patched tree.

set(H2O_BENCH_DIR ${CMAKE_CURRENT_LIST_DIR})

function(h2o_add_bench NAME)
    add_executable(${NAME} EXCLUDE_FROM_ALL ${H2O_BENCH_DIR}/prefill-bench.cpp ${H2O_BENCH_DIR}/profile.cpp)
    target_compile_features(${NAME} PRIVATE cxx_std_17)
    target_link_libraries  (${NAME} PRIVATE llama)
    set_target_properties  (${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/$<0:>)
    if ("H2O" IN_LIST ARGN)
        target_compile_definitions(${NAME} PRIVATE BENCH_H2O)
    endif()
    if (NOT MSVC)
        target_compile_options(${NAME} PRIVATE -Wall -Wextra -Werror)
    endif()
endfunction()
