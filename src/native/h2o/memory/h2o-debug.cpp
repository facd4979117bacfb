#include "h2o-debug.h"

#include "h2o-policy.h"
#include "h2o-store.h"

#include <cstdio>
#include <cstdlib>

static bool h2o_is_set(const char * name) {
    const char * value = getenv(name);
    return value && atoi(value) != 0;
}

void h2o_debug_phases(const h2o_plan & plan, const h2o_policy & policy, int32_t n_chunks_prev) {
    if (!h2o_is_set("H2O_DEBUG_PHASES")) {
        return;
    }

    if (plan.stores_kv() && plan.is_first()) {
        const int is_inherited = plan.pos > 0 && policy.remembers(plan.inherited);

        fprintf(stderr, "[H2O] phase=1 ubatch.n_tokens=%d pos=%d chunk_idx=%d n_chunks=%d has_prev=%d mem_init=%d\n",
                plan.n_tokens, plan.pos, n_chunks_prev, plan.n_chunks(), plan.pos > 0, is_inherited);
    }
    for (int32_t ic = plan.ic_begin; ic < plan.ic_end && plan.phase != H2O_PHASE_INTRA; ++ic) {
        fprintf(stderr, "[H2O] phase=2 ubatch.n_tokens=%d pos=%d chunk_idx=%d n_chunks=%d has_prev=%d mem_init=%d\n",
                plan.chunk_len(ic), plan.chunk_pos(ic), n_chunks_prev + ic, plan.n_chunks(),
                plan.n_mem(ic) > 0, plan.n_mem(ic) > 0);
    }
}

void h2o_debug_cache(const h2o_plan & plan, const h2o_store & store) {
    if (!h2o_is_set("H2O_DEBUG_CACHE") || !plan.stores_kv() || !plan.is_last()) {
        return;
    }

    if (plan.phase == H2O_PHASE_INTRA) {
        fprintf(stderr, "[H2O] cache ready: n_tokens=%d base_pos=%d n_layer=%zu bytes=%zu\n",
                plan.n_tokens, plan.pos, store.layer_ids().size(), store.size_working());
    } else {
        fprintf(stderr, "[H2O] cache ready: n_tokens=%d base_pos=%d n_layer=%zu bytes=0 (single-pass keeps it in the graph)\n",
                plan.n_tokens, plan.pos, store.layer_ids().size());
    }
}
