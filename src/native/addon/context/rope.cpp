#include "rope.h"

#include "model/model-load.h"
#include "runtime/hash.h"
#include "runtime/values.h"

#include "llama.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

// of llama-model.h, which has it for tests
const std::vector<std::pair<std::string, ggml_tensor *>> & llama_internal_get_tensor_map(const llama_model * model);

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

// LongRoPE has factors of its own for contexts that are longer than that of the first training
static bool has_long_factors(const llama_model * model, uint32_t n_ctx_seq) {
    const auto & tensors = llama_internal_get_tensor_map(model);

    const bool has_any = std::any_of(tensors.begin(), tensors.end(), [](const auto & it) {
        return it.first.find("rope_factors_long") != std::string::npos;
    });
    const std::string n_ctx_orig = model_arch_meta(model, "rope.scaling.original_context_length");

    return has_any && n_ctx_seq > (n_ctx_orig.empty() ? (uint32_t) llama_model_n_ctx_train(model) : std::stoul(n_ctx_orig));
}

uint64_t rope_fingerprint(const rope_options & rope, const llama_model * model, uint32_t n_ctx_seq, uint64_t fingerprint) {
    static const rope_options as_the_model_says;

    if (memcmp(&rope, &as_the_model_says, sizeof(rope)) != 0) {
        fingerprint = hash_bytes(&rope, sizeof(rope), fingerprint);
    }
    return has_long_factors(model, n_ctx_seq) ? hash_bytes("long", 4, fingerprint) : fingerprint;
}

} // namespace addon
