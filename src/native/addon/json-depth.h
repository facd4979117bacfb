// How deep a JSON text is nested: what reads one recurses.

#pragma once

#include <cstddef>
#include <string>

namespace addon {

// of brackets and braces outside of strings
size_t json_depth(const std::string & json);

} // namespace addon
