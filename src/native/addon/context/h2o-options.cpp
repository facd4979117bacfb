#include "h2o-options.h"

#include "runtime/values.h"

namespace addon {

static h2o_policy_type policy_of(const std::string & name) {
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        if (name == policy->name) {
            return policy->type;
        }
    }
    return H2O_POLICY_AUTO;
}

h2o_params h2o_params_from_js(const Napi::Object & object) {
    h2o_params h2o = h2o_default_params();

    h2o.n_local      = (uint32_t) get_number(object, "local",     h2o.n_local);
    h2o.n_heavy      = (uint32_t) get_number(object, "heavy",     h2o.n_heavy);
    h2o.n_dense_tail = (uint32_t) get_number(object, "denseTail", h2o.n_dense_tail);
    h2o.n_decode     = (uint32_t) get_number(object, "decode",    h2o.n_decode);
    h2o.policy       = policy_of(get_string(object, "select", h2o_policy_name(h2o.policy)));
    h2o.schedule     = get_bool(object, "twoPass", false) ? H2O_SCHEDULE_TWO_PASS : H2O_SCHEDULE_SINGLE_PASS;
    h2o.trace        = (h2o_trace_level) get_number(object, "trace", h2o.trace);

    return h2o;
}

Napi::Value h2o_resolve(const Napi::CallbackInfo & info) {
    const h2o_params asked   = h2o_params_from_js(info[0].As<Napi::Object>());
    const uint32_t   n_chunk = info[1].As<Napi::Number>().Uint32Value();
    const h2o_params used    = h2o_resolve_params(asked, n_chunk, 1);

    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("local",     used.n_local);
    object.Set("heavy",     used.n_heavy);
    object.Set("denseTail", used.n_dense_tail);
    object.Set("lowered",   h2o_lowers_params(asked, n_chunk));
    return object;
}

Napi::Value h2o_auto_decode(const Napi::CallbackInfo & info) {
    const uint32_t n_group = info[0].As<Napi::Number>().Uint32Value();
    const int64_t  n_cand  = info[1].As<Napi::Number>().Int64Value();

    return Napi::Number::New(info.Env(), h2o_decode_among(H2O_AUTO, n_group, n_cand));
}

Napi::Value h2o_heavy_of(const Napi::CallbackInfo & info) {
    const int32_t n_heavy = info[0].As<Napi::Number>().Int32Value();
    const bool    grows   = info[1].As<Napi::Boolean>().Value();
    const int32_t n_cand  = info[2].As<Napi::Number>().Int32Value();

    return Napi::Number::New(info.Env(), h2o_heavy_among(n_heavy, grows, n_cand));
}

} // namespace addon
