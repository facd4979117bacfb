// The text of one .ptx file. Kernels are read when they are first launched.

#pragma once

#include "program.h"

#include <memory>

namespace ptx {

class module {
public:
    explicit module(std::string text);

    const program * find(const std::string & name); // null: no such kernel

private:
    struct source {
        std::string_view head;
        std::string_view body;
        int              line;
    };

    std::string                                     text;
    std::map<std::string, source>                   sources;
    std::map<std::string, std::unique_ptr<program>> programs;
    std::map<std::string, std::unique_ptr<char[]>>  variables;    // .global and .const
    std::vector<std::pair<std::string, size_t>>     shared;       // of the module: names, bytes
    std::vector<std::string>                        dynamic;      // extern .shared

    void add_variable(std::string statement);

    std::unique_ptr<program> assemble(const std::string & name, const source & s);
};

// "" if the image, as __cudaRegisterFatBinary gets it, has no PTX for that chip or an older one
std::string ptx_of_fatbin(const void * wrapper, int arch);

} // namespace ptx
