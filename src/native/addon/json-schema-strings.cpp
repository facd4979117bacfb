// What llama.cpp's conversion of JSON schemas asks of common/common.cpp, which brings much more with it.

#include "common.h"

std::string string_join(const std::vector<std::string> & values, const std::string & separator) {
    std::string joined;
    for (size_t i = 0; i < values.size(); ++i) {
        joined += (i > 0 ? separator : "") + values[i];
    }
    return joined;
}

std::vector<std::string> string_split(const std::string & str, const std::string & delimiter) {
    std::vector<std::string> parts;

    size_t begin = 0;
    for (size_t end; (end = str.find(delimiter, begin)) != std::string::npos; begin = end + delimiter.size()) {
        parts.push_back(str.substr(begin, end - begin));
    }
    parts.push_back(str.substr(begin));

    return parts;
}

std::string string_repeat(const std::string & str, size_t n) {
    std::string repeated;
    for (size_t i = 0; i < n; ++i) {
        repeated += str;
    }
    return repeated;
}
