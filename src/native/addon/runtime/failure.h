// A failure with a permanent code, thrown by jobs on any thread and turned into a JavaScript error on its own.
//
// The TypeScript layer makes an H2oError of it: code, message and details are the whole contract.

#pragma once

#include <napi.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace addon {

using failure_detail = std::pair<std::string, std::variant<double, std::string>>;

class failure : public std::runtime_error {
public:
    failure(std::string code, const std::string & message, std::vector<failure_detail> details = {});

    // JavaScript thread only: an Error with the properties code and details
    Napi::Value to_js(Napi::Env env) const;

    std::string                 code;
    std::vector<failure_detail> details;
};

// JavaScript thread only: what work() gives; its failure is thrown as a JavaScript error
template <typename work_type>
auto or_throw(Napi::Env env, work_type work) {
    try {
        return work();
    } catch (const failure & err) {
        throw Napi::Error(env, err.to_js(env));
    }
}

// the job was aborted; `position` is what the context holds now
failure failure_interrupted(int position);

} // namespace addon
