// What a decode call gives, as a JavaScript object: NativeCall in src/ts/native/surface.ts.

#pragma once

#include "text/sampler.h"

#include "h2o.h"

#include <napi.h>

namespace addon {

// the token, and its logprobs where they are wanted; `draw` is what drew it, may be null
void set_drawn(Napi::Object & object, const drawn_token & drawn, const sampler * draw);

Napi::Object call_to_js(
        Napi::Env env, const h2o_call & call, int32_t position, double ms, const drawn_token & drawn, const sampler * draw);

} // namespace addon
