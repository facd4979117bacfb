// The parameters of a context: defaults, limits and names. See h2o.h.

#include "h2o.h"

#include <algorithm>

h2o_params h2o_default_params(void) {
    h2o_params res = {};
    res.policy       = H2O_POLICY_AUTO;
    res.schedule     = H2O_SCHEDULE_SINGLE_PASS;
    res.n_local      = H2O_AUTO;
    res.n_heavy      = H2O_AUTO;
    res.n_dense_tail = H2O_AUTO;
    res.trace        = H2O_TRACE_OFF;

    res.n_decode = 0;

    res.upstream_products = false;
    return res;
}

static h2o_policy_type auto_policy(h2o_schedule schedule) {
    int32_t i = 0;
    while (schedule == H2O_SCHEDULE_TWO_PASS && !h2o_get_policy(i)->runs_two_pass) {
        ++i;
    }
    return h2o_get_policy(i)->type;
}

static void resolve_auto(h2o_params & params, const h2o_policy_traits & policy, uint32_t n_chunk) {
    if (params.n_local == H2O_AUTO) {
        params.n_local = n_chunk == 0 ? policy.n_local : std::min(policy.n_local, n_chunk/policy.local_part);
    }
    if (params.n_heavy == H2O_AUTO) {
        params.heavy_grows = policy.heavy_grows;
        params.n_heavy     = policy.n_heavy;
    }
    if (params.n_dense_tail == H2O_AUTO) {
        params.n_dense_tail = policy.n_dense_tail;
    }
}

uint32_t h2o_decode_among(uint32_t n_decode, uint32_t n_group, int64_t n_cand) {
    constexpr int64_t  n_least    = 512;
    constexpr int64_t  n_step     = 64; // a graph is built for a number of keys
    constexpr uint32_t n_gain_max = 3;  // heads of larger groups need more keys, and the exact kernel reads each once for all

    if (n_decode != H2O_AUTO) {
        return n_decode;
    }
    if (n_group > n_gain_max) {
        return 0;
    }
    return std::max(n_least, n_cand/16/n_step*n_step);
}

h2o_params h2o_resolve_params(h2o_params params, uint32_t n_chunk, uint32_t n_group) {
    if (params.policy == H2O_POLICY_AUTO) {
        params.policy = auto_policy(params.schedule);
    }
    const h2o_policy_traits * policy = h2o_get_policy_traits(params.policy);
    if (!policy) {
        return params; // no context is made of them
    }
    resolve_auto(params, *policy, n_chunk);

    // positions are 32 bits
    if (params.n_decode != H2O_AUTO) {
        params.n_decode = std::min<uint32_t>(params.n_decode, 1 << 30);
    } else if (h2o_decode_among(H2O_AUTO, n_group, 0) == 0) {
        params.n_decode = 0;
    }

    if (!policy->fits_chunk) {
        params.n_local = n_chunk == 0 ? params.n_local : std::min(params.n_local, n_chunk - 1);
        params.n_heavy = std::min<uint32_t>(params.n_heavy, 1 << 30);
        return params;
    }

    // 64 bits: L and H come from the user
    if (n_chunk == 0 || (uint64_t) params.n_local + params.n_heavy < n_chunk) {
        return params;
    }
    if (params.n_local >= n_chunk) {
        params.n_local = n_chunk - 1;
    }
    params.n_heavy = n_chunk - 1 - params.n_local;
    return params;
}

bool h2o_lowers_params(h2o_params asked, uint32_t n_chunk) {
    const h2o_params used = h2o_resolve_params(asked, n_chunk, 1);

    const bool fills_chunk = asked.n_local == asked.n_heavy && (uint64_t) asked.n_local + asked.n_heavy == n_chunk;

    return !fills_chunk &&
        ((asked.n_local != H2O_AUTO && asked.n_local != used.n_local) ||
         (asked.n_heavy != H2O_AUTO && asked.n_heavy != used.n_heavy));
}

int32_t h2o_heavy_among(int32_t n_heavy, bool heavy_grows, int32_t n_cand) {
    if (!heavy_grows || n_cand <= n_heavy) {
        return n_heavy;
    }
    // no model is known whose queries want as much: what random weights take
    return std::max(n_heavy, std::min(n_cand - 1, 4096 + n_cand/16));
}

const char * h2o_reason_name(h2o_reason reason) {
    switch (reason) {
        case H2O_REASON_NONE:                      return "none";
        case H2O_REASON_OFF:                       return "off";
        case H2O_REASON_ONE_CHUNK:                 return "one-chunk";
        case H2O_REASON_BATCH_TOO_SMALL:           return "batch-too-small";
        case H2O_REASON_UNSUPPORTED_ARCHITECTURE:  return "unsupported-architecture";
        case H2O_REASON_UNSUPPORTED_MEMORY:        return "unsupported-memory";
        case H2O_REASON_UNSUPPORTED_ATTENTION:     return "unsupported-attention";
        case H2O_REASON_UNSUPPORTED_CONTEXT:       return "unsupported-context";
        case H2O_REASON_UNSUPPORTED_DEVICE:        return "unsupported-device";
        case H2O_REASON_UNSUPPORTED_SCHEDULE:      return "unsupported-schedule";
        case H2O_REASON_MULTI_SEQUENCE:            return "multi-sequence";
        case H2O_REASON_EMBEDDING_INPUT:           return "embedding-input";
        case H2O_REASON_NON_CAUSAL:                return "non-causal";
        case H2O_REASON_POSITIONS_NOT_CONSECUTIVE: return "positions-not-consecutive";
        case H2O_REASON_KV_NOT_CONTIGUOUS:         return "kv-not-contiguous";
        case H2O_REASON_FEW_POSITIONS:             return "few-positions";
        case H2O_REASON_MANY_TOKENS:               return "many-tokens";
        case H2O_REASON_COUNT:                     break;
    }
    return "unknown";
}

const char * h2o_policy_name(h2o_policy_type policy) {
    const h2o_policy_traits * traits = h2o_get_policy_traits(policy);

    return policy == H2O_POLICY_AUTO ? "auto" : traits ? traits->name : "unknown";
}

const char * h2o_schedule_name(h2o_schedule schedule) {
    return schedule == H2O_SCHEDULE_TWO_PASS ? "two-pass" : "single-pass";
}

const char * h2o_path_name(h2o_path path) {
    return path == H2O_PATH_SPARSE ? "h2o" : "dense";
}
