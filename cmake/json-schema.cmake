# h2o_json_schema: llama.cpp's conversion of JSON schemas to grammars. These files alone: llama-common takes minutes to
# compile, and src/native/addon/json-schema-strings.cpp has the few functions that they ask of its rest.

set(H2O_COMMON ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/common)

add_library(h2o_json_schema OBJECT
    ${H2O_COMMON}/json-schema-to-grammar.cpp
    ${H2O_COMMON}/json-schema.cpp
    ${H2O_COMMON}/json.cpp
    ${H2O_COMMON}/trie.cpp
    ${H2O_COMMON}/unicode.cpp)

set_target_properties     (h2o_json_schema PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_compile_features   (h2o_json_schema PUBLIC cxx_std_17)
target_link_libraries     (h2o_json_schema PUBLIC llama)
target_include_directories(h2o_json_schema SYSTEM PUBLIC
    ${H2O_COMMON}
    ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/vendor
    ${CMAKE_CURRENT_SOURCE_DIR}/src/native/h2o/tools) # common.h is patched
