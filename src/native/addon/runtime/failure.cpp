#include "failure.h"

namespace addon {

failure::failure(std::string code, const std::string & message, std::vector<failure_detail> details) :
    std::runtime_error(message), code(std::move(code)), details(std::move(details)) {}

Napi::Value failure::to_js(Napi::Env env) const {
    Napi::Object js_details = Napi::Object::New(env);

    for (const auto & [name, value] : details) {
        if (const double * number = std::get_if<double>(&value)) {
            js_details.Set(name, Napi::Number::New(env, *number));
        } else {
            js_details.Set(name, Napi::String::New(env, std::get<std::string>(value)));
        }
    }

    Napi::Object error = Napi::Error::New(env, what()).Value();
    error.Set("code",    Napi::String::New(env, code));
    error.Set("details", js_details);

    return error;
}

failure failure_interrupted(int position) {
    return failure("ERR_H2O_INTERRUPTED", "the call was interrupted", {{"position", (double) position}});
}

} // namespace addon
