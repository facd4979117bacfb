// What llama.cpp computes with on this machine.

#pragma once

#include <napi.h>

namespace addon {

// () -> { features, policies, devices: [{ name, description, type, memoryFree, memoryTotal }] }
Napi::Value system_info(const Napi::CallbackInfo & info);

} // namespace addon
