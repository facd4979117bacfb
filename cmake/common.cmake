# h2o_common: what the addon takes of llama.cpp's common: JSON schemas as grammars, chat templates, parsers of answers, drafts. These
# files alone: llama-common brings downloads and arguments, and src/native/addon/text/common-parts.cpp has the few functions that
# they ask of its rest.

set(H2O_COMMON ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/common)

include(${H2O_COMMON}/parsers/sources.cmake)
file(GLOB H2O_JINJA_SOURCES CONFIGURE_DEPENDS ${H2O_COMMON}/jinja/*.cpp)

add_library(h2o_common OBJECT
    ${H2O_COMMON}/chat-auto-parser-generator.cpp
    ${H2O_COMMON}/chat-auto-parser-helpers.cpp
    ${H2O_COMMON}/chat-diff-analyzer.cpp
    ${H2O_COMMON}/chat-peg-parser.cpp
    ${H2O_COMMON}/chat.cpp
    ${H2O_COMMON}/json-schema-to-grammar.cpp
    ${H2O_COMMON}/json-schema.cpp
    ${H2O_COMMON}/json.cpp
    ${H2O_COMMON}/ngram-map.cpp
    ${H2O_COMMON}/peg-parser.cpp
    ${H2O_COMMON}/reasoning-budget.cpp
    ${H2O_COMMON}/trie.cpp
    ${H2O_COMMON}/unicode.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/src/native/limits/limit-jinja.cpp
    ${H2O_JINJA_SOURCES}
    ${LLAMA_CHAT_PARSERS_SOURCES})

set_target_properties     (h2o_common PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_compile_features   (h2o_common PUBLIC cxx_std_17)
target_link_libraries     (h2o_common PUBLIC llama)
target_include_directories(h2o_common SYSTEM PUBLIC
    ${H2O_COMMON}
    ${CMAKE_CURRENT_SOURCE_DIR}/vendor/llama.cpp/vendor
    ${CMAKE_CURRENT_SOURCE_DIR}/src/native/h2o/tools) # common.h is patched
if (NOT MSVC)
    target_compile_options(h2o_common PRIVATE -Os) # nothing in it is hot
endif()
