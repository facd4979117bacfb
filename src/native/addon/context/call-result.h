// What a decode call gives, as a JavaScript object: NativeCall in src/ts/native/surface.ts.

#pragma once

#include "text/sampler.h"

#include "h2o.h"

#include <napi.h>

namespace addon {

// `draw` is what drew the token; may be null
Napi::Object call_to_js(
        Napi::Env env, const h2o_call & call, int32_t position, double ms, const drawn_token & drawn, const sampler * draw);

} // namespace addon
