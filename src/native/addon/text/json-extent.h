// How deep and how wide a JSON text is, before a parser sees it.

#pragma once

#include <cstddef>
#include <string>

namespace addon {

struct json_extent {
    size_t depth   = 0; // brackets and braces in each other
    size_t members = 0; // of the object that has most
    size_t text    = 0; // bytes of the longest string, as it is written
    size_t names   = 0; // all members of all objects

    // of any text; what is no JSON has some extent, too
    static json_extent of(const std::string & json);

    // throws failure ("`name` is nested too deeply") for what no parser here should read: each level of a schema is a
    // rule whose name begins with that of the level above, and each member is compared with all before it
    void refuse_large(const std::string & name) const;
};

} // namespace addon
