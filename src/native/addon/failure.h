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

// the job was aborted; `position` is what the context holds now
failure failure_interrupted(int position);

} // namespace addon
