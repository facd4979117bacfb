#include "json-depth.h"

#include <algorithm>

namespace addon {

size_t json_depth(const std::string & json) {
    size_t depth     = 0;
    size_t deepest   = 0;
    bool   in_string = false;

    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            deepest = std::max(deepest, ++depth);
        } else if (!in_string && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return deepest;
}

} // namespace addon
