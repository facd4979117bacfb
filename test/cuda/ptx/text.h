// Reading PTX: statements and what they are made of.

#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

inline std::string_view trim(std::string_view s) {
    while (!s.empty() && isspace((unsigned char) s.front())) s.remove_prefix(1);
    while (!s.empty() && isspace((unsigned char) s.back()))  s.remove_suffix(1);
    return s;
}

inline bool starts(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }

// at commas that stand in no bracket
inline std::vector<std::string> split(std::string_view s, char at = ',') {
    std::vector<std::string> res;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= s.size(); ++i) {
        const char c = i < s.size() ? s[i] : at;
        depth += c == '[' || c == '{' || c == '(' ? 1 : c == ']' || c == '}' || c == ')' ? -1 : 0;
        if ((c == at && depth == 0) || i == s.size()) {
            const std::string_view part = trim(s.substr(begin, i - begin));
            if (!part.empty()) res.emplace_back(part);
            begin = i + 1;
        }
    }
    return res;
}

inline std::vector<std::string> words(std::string_view s) {
    std::vector<std::string> res;
    for (size_t i = 0; i < s.size();) {
        while (i < s.size() && isspace((unsigned char) s[i])) ++i;
        const size_t begin = i;
        while (i < s.size() && !isspace((unsigned char) s[i])) ++i;
        if (i > begin) res.emplace_back(s.substr(begin, i - begin));
    }
    return res;
}

} // namespace ptx
