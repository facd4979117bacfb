#include "rope.h"

#include "runtime/hash.h"
#include "runtime/values.h"

#include "llama.h"

namespace addon {

static int32_t scaling_type(const std::string & name) {
    return name == "none"   ? LLAMA_ROPE_SCALING_TYPE_NONE   :
           name == "linear" ? LLAMA_ROPE_SCALING_TYPE_LINEAR :
           name == "yarn"   ? LLAMA_ROPE_SCALING_TYPE_YARN   : LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED;
}

rope_options rope_options_from_js(const Napi::Object & object) {
    rope_options o;

    o.scaling          = scaling_type(get_string(object, "scaling", ""));
    o.yarn_orig_ctx    = (uint32_t) get_number(object, "yarnOrigCtx", o.yarn_orig_ctx);
    o.freq_base        = (float) get_number(object, "freqBase",       o.freq_base);
    o.freq_scale       = (float) get_number(object, "freqScale",      o.freq_scale);
    o.yarn_ext_factor  = (float) get_number(object, "yarnExtFactor",  o.yarn_ext_factor);
    o.yarn_attn_factor = (float) get_number(object, "yarnAttnFactor", o.yarn_attn_factor);
    o.yarn_beta_fast   = (float) get_number(object, "yarnBetaFast",   o.yarn_beta_fast);
    o.yarn_beta_slow   = (float) get_number(object, "yarnBetaSlow",   o.yarn_beta_slow);

    return o;
}

void rope_apply(const rope_options & rope, llama_context_params & params) {
    params.rope_scaling_type = (llama_rope_scaling_type) rope.scaling;
    params.rope_freq_base    = rope.freq_base;
    params.rope_freq_scale   = rope.freq_scale;
    params.yarn_ext_factor   = rope.yarn_ext_factor;
    params.yarn_attn_factor  = rope.yarn_attn_factor;
    params.yarn_beta_fast    = rope.yarn_beta_fast;
    params.yarn_beta_slow    = rope.yarn_beta_slow;
    params.yarn_orig_ctx     = rope.yarn_orig_ctx;
}

uint64_t rope_fingerprint(const rope_options & rope, uint64_t fingerprint) {
    static const rope_options as_the_model_says;

    return memcmp(&rope, &as_the_model_says, sizeof(rope)) == 0 ? fingerprint
                                                                : hash_bytes(&rope, sizeof(rope), fingerprint);
}

} // namespace addon
