# llama.cpp's RPC server with our op, in <build>/bin: a machine that lends its devices (docs/scaling.md).

add_executable(ggml-rpc-server vendor/llama.cpp/tools/rpc/rpc-server.cpp)
target_link_libraries(ggml-rpc-server PRIVATE ggml)
set_target_properties(ggml-rpc-server PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
