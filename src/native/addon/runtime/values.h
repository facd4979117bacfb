// Small conversions between JavaScript values and plain ones. JavaScript thread only.
//
// Arguments come from our own TypeScript layer, which has validated them: a missing property means the default.

#pragma once

#include <napi.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace addon {

inline double get_number(const Napi::Object & object, const char * name, double otherwise) {
    const Napi::Value value = object.Get(name);
    return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : otherwise;
}

inline bool get_bool(const Napi::Object & object, const char * name, bool otherwise) {
    const Napi::Value value = object.Get(name);
    return value.IsBoolean() ? value.As<Napi::Boolean>().Value() : otherwise;
}

inline std::string get_string(const Napi::Object & object, const char * name, const std::string & otherwise) {
    const Napi::Value value = object.Get(name);
    return value.IsString() ? value.As<Napi::String>().Utf8Value() : otherwise;
}

// of a list; empty if there is none
inline std::vector<std::string> get_strings(const Napi::Object & object, const char * name) {
    std::vector<std::string> texts;
    const Napi::Value value = object.Get(name);
    for (uint32_t i = 0; value.IsArray() && i < value.As<Napi::Array>().Length(); ++i) {
        texts.push_back(value.As<Napi::Array>().Get(i).As<Napi::String>().Utf8Value());
    }
    return texts;
}

inline std::vector<float> get_floats(const Napi::Object & object, const char * name) {
    std::vector<float> numbers;
    const Napi::Value value = object.Get(name);
    for (uint32_t i = 0; value.IsArray() && i < value.As<Napi::Array>().Length(); ++i) {
        numbers.push_back(value.As<Napi::Array>().Get(i).As<Napi::Number>().FloatValue());
    }
    return numbers;
}

inline std::vector<int32_t> get_int32s(const Napi::Value & value) {
    const Napi::Int32Array array = value.As<Napi::Int32Array>();
    return std::vector<int32_t>(array.Data(), array.Data() + array.ElementLength());
}

// a typed array that holds a copy of n values
template <typename array_type, typename value_type>
array_type make_array(Napi::Env env, const value_type * values, size_t n) {
    array_type array = array_type::New(env, n);
    if (n > 0) {
        memcpy(array.Data(), values, n * sizeof(value_type));
    }
    return array;
}

} // namespace addon
