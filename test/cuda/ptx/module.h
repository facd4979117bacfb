// The text of one .ptx file. Kernels are read when they are first launched.

#pragma once

#include "program.h"

#include <memory>

namespace ptx {

class module {
public:
    explicit module(const std::string & text);

    const program * find(const std::string & name); // null: no such kernel

private:
    struct source { std::string_view head, body; }; // the head from its parameters on

    std::string                                    text;      // without comments
    std::map<std::string, source>                  sources;
    std::map<std::string, program>                 programs;
    std::map<std::string, std::unique_ptr<char[]>> constants; // .global, too
    std::vector<std::string>                       shared;    // declarations

    void    add_variable(const std::string & statement);
    program assemble(const std::string & name, const source & s) const;
};

// "" if the image, as __cudaRegisterFatBinary gets it, has no PTX for that chip or an older one
std::string ptx_of_fatbin(const void * wrapper, int arch);

} // namespace ptx
