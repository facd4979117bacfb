#include "sampler-options.h"

#include "chat-object.h"
#include "runtime/values.h"

namespace addon {

static std::vector<llama_logit_bias> get_logit_bias(const Napi::Object & object) {
    const std::vector<int32_t> tokens = get_int32s(object.Get("biasTokens"));
    const Napi::Float32Array   values = object.Get("biasValues").As<Napi::Float32Array>();

    std::vector<llama_logit_bias> bias;
    for (size_t i = 0; i < tokens.size(); ++i) {
        bias.push_back({ tokens[i], values[i] });
    }
    return bias;
}

sampler_options sampler_options_from_js(const Napi::Object & object) {
    sampler_options o;

    const auto real  = [&](const char * name, float   & value) { value = (float)   get_number(object, name, value); };
    const auto whole = [&](const char * name, int32_t & value) { value = (int32_t) get_number(object, name, value); };

    o.seed = (uint32_t) get_number(object, "seed", o.seed);

    real ("temperature",      o.temperature);
    real ("dynatempRange",    o.dynatemp_range);
    real ("dynatempExponent", o.dynatemp_exponent);
    whole("topK",             o.top_k);
    real ("topP",             o.top_p);
    real ("minP",             o.min_p);
    real ("typicalP",         o.typical_p);
    real ("topNSigma",        o.top_n_sigma);
    real ("xtcProbability",   o.xtc_probability);
    real ("xtcThreshold",     o.xtc_threshold);
    whole("repeatLastN",      o.repeat_last_n);
    real ("repeatPenalty",    o.repeat_penalty);
    real ("frequencyPenalty", o.frequency_penalty);
    real ("presencePenalty",  o.presence_penalty);
    real ("dryMultiplier",    o.dry_multiplier);
    real ("dryBase",          o.dry_base);
    whole("dryAllowedLength", o.dry_allowed_length);
    whole("dryPenaltyLastN",  o.dry_penalty_last_n);
    real ("adaptiveTarget",   o.adaptive_target);
    real ("adaptiveDecay",    o.adaptive_decay);
    whole("mirostat",         o.mirostat);
    real ("mirostatTau",      o.mirostat_tau);
    real ("mirostatEta",      o.mirostat_eta);
    whole("logprobs",         o.n_logprobs);

    o.ignore_eos            = get_bool(object, "ignoreEos", o.ignore_eos);
    o.grammar               = get_string(object, "grammar", "");
    o.json_schema           = get_string(object, "jsonSchema", "");
    o.samplers              = get_strings(object, "samplers");
    o.dry_sequence_breakers = get_strings(object, "drySequenceBreakers");
    o.logit_bias            = get_logit_bias(object);

    const Napi::Value chat = object.Get("chat");
    if (chat.IsObject()) {
        o.chat = chat_object::Unwrap(chat.As<Napi::Object>())->prompt;
    }

    return o;
}

} // namespace addon
