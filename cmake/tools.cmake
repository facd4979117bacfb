# llama.cpp's tools with H2O, in <build>/bin. llama-cli is not among them: build it from vendor/llama.cpp (patches/README.md).

if (NOT MSVC)
    # most of the time to compile all this goes into these, and nothing in them is hot
    foreach (target llama-common mtmd server-context llama-server-impl cpp-httplib)
        target_compile_options(${target} PRIVATE -O1)
    endforeach()
endif()

# the server is without its page, whose files are not in upstream's sources
add_custom_target(h2o_tools ALL DEPENDS
    llama-batched-bench llama-bench llama-completion llama-perplexity llama-server)
