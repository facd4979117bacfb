// The parameters of H2O as JavaScript gives them.

#pragma once

#include "h2o.h"

#include <napi.h>

namespace addon {

// { local?, heavy?, denseTail?, decode?, select?, twoPass?, trace? }; what is missing is the engine's default
h2o_params h2o_params_from_js(const Napi::Object & object);

// (the same, chunk) -> { local, heavy, denseTail } as a context uses them, and whether it lowers one: `lowered`
Napi::Value h2o_resolve(const Napi::CallbackInfo & info);

// (query heads to a KV head, candidates) -> keys that sparse decoding chooses of them by `auto`; 0: all
Napi::Value h2o_auto_decode(const Napi::CallbackInfo & info);

// (H, whether it grows, candidates) -> how many of them a set of `heavy` holds
Napi::Value h2o_heavy_of(const Napi::CallbackInfo & info);

} // namespace addon
