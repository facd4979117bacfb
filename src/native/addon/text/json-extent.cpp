#include "json-extent.h"

#include "runtime/failure.h"

#include <algorithm>
#include <vector>

namespace addon {

// where the string that begins at `i` has its closing quote, or the text its end
static size_t end_of_string(const std::string & json, size_t i) {
    for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') {
            ++i;
        }
    }
    return std::min(i, json.size());
}

json_extent json_extent::of(const std::string & json) {
    json_extent         extent;
    std::vector<size_t> n_members; // of what is open

    for (size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"') {
            const size_t end = end_of_string(json, i);
            extent.text = std::max(extent.text, end - i);
            i = end;
        } else if (c == '{' || c == '[') {
            n_members.push_back(0);
            extent.depth = std::max(extent.depth, n_members.size());
        } else if ((c == '}' || c == ']') && !n_members.empty()) {
            n_members.pop_back();
        } else if (c == ':' && !n_members.empty()) {
            extent.names++;
            extent.members = std::max(extent.members, ++n_members.back());
        }
    }
    return extent;
}

void json_extent::refuse_large(const std::string & name) const {
    static constexpr size_t depth_max   = 256;
    static constexpr size_t members_max = 10000;

    if (depth > depth_max) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", name + " is nested too deeply", {{"deepest", (double) depth_max}});
    }
    if (members > members_max) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", name + " has an object with too many members",
            {{"most", (double) members_max}});
    }
}

} // namespace addon
