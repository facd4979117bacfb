#include "h2o-probe.h"

#include "h2o-cache.h"
#include "h2o-cost.h"
#include "h2o-graph-input.h"
#include "h2o-mass.h"

#include "llama-context.h"
#include "llama-impl.h"
#include "llama-model.h"

#include <algorithm>
#include <numeric>

// whether a node of the graph looks at the whole cache that H2O serves; by name, since ggml shows no leafs and a
// scheduler puts copies in their place
static bool h2o_reads_mask(const llm_graph_result & res, ggml_cgraph * gf) {
    bool found = false;

    const auto look_for = [&](const auto * input) {
        if (input && input->get_kq_mask()) {
            ggml_set_name(input->get_kq_mask(), "h2o_unused_mask");
            found = found || ggml_graph_get_tensor(gf, "h2o_unused_mask");
        }
    };

    for (const auto & it : res.inputs) {
        const llm_graph_input_i * input = it.get();

        look_for(dynamic_cast<const llm_graph_input_attn_kv      *>(input));
        look_for(dynamic_cast<const llm_graph_input_attn_kv_iswa *>(input));

        if (const auto * hybrid = dynamic_cast<const llm_graph_input_mem_hybrid *>(input)) {
            look_for(hybrid->get_attn());
        }
    }
    return found;
}

// every layer of the cache went through h2o_build_attn, and nothing else looks at it as a whole
static h2o_reason h2o_coverage_of_graph(
        const llm_graph_result & res, ggml_cgraph * gf, const h2o_store & store, std::set<int32_t> & layers) {
    for (const auto & input : res.inputs) {
        if (const auto * h2o = dynamic_cast<const llm_graph_input_h2o *>(input.get())) {
            layers = h2o->built;
            for (const int32_t il : store.layer_ids()) {
                if (h2o->sets.count(il) == 0) {
                    return H2O_REASON_UNSUPPORTED_ATTENTION;
                }
            }
        } else if (dynamic_cast<const llm_graph_input_attn_no_cache *>(input.get())) {
            return H2O_REASON_UNSUPPORTED_ATTENTION;
        }
    }

    if (store.layer_ids().empty() || h2o_reads_mask(res, gf)) {
        return H2O_REASON_UNSUPPORTED_ATTENTION;
    }
    return H2O_REASON_NONE;
}

// reserves one graph of a call of n_tokens tokens
static void h2o_probe_graph(
        llama_context    & lctx,
        h2o_cache        & cache,
        const h2o_plan   & plan,
        uint32_t           n_tokens,
        size_t           * sizes,
        h2o_probe_result & res) {
    const llama_memory_context_ptr mctx = cache.new_reserve_context(plan);

    std::vector<size_t> sizes_here(ggml_backend_sched_get_n_backends(lctx.get_sched()), 0);

    // the last call of a prompt has a single output
    const auto reserve = [&](bool measure_only) {
        return lctx.graph_reserve(plan.n_graph_tokens(), 1, 1, mctx.get(), measure_only,
                measure_only ? sizes_here.data() : nullptr);
    };

    ggml_cgraph * gf = nullptr;
    try {
        gf = reserve(true);
        if (!lctx.get_model().hparams.no_alloc) {
            gf = reserve(false);
        }
    } catch (const h2o_not_covered &) {
        res.reason = H2O_REASON_UNSUPPORTED_ATTENTION;
        return;
    }
    if (!gf) {
        throw std::runtime_error(format("failed to allocate the compute buffers of a sparse prefill of %u tokens: "
                "use a smaller logical batch (-b, n_batch)", n_tokens));
    }

    for (size_t i = 0; i < sizes_here.size(); ++i) {
        sizes[i] = std::max(sizes[i], sizes_here[i]);
    }
    res.n_nodes = std::max(res.n_nodes, ggml_graph_n_nodes(gf));
    res.size    = std::max(res.size, std::accumulate(sizes_here.begin(), sizes_here.end(), size_t(0)));
    res.flops   = h2o_linear_flops(gf)/plan.n_graph_tokens();
    res.reason  = h2o_coverage_of_graph(*lctx.get_gf_res_reserve(), gf, cache.engine.store, res.layers);
}

h2o_probe_result h2o_probe(llama_context & lctx, h2o_cache & cache, size_t * sizes) {
    const llama_cparams & cparams = lctx.get_cparams();

    const uint32_t n_tokens = std::min(cparams.n_ctx_seq, cparams.n_batch);

    h2o_probe_result res;

    // a batch of whole chunks, and one with the longest tail
    for (const uint32_t n : { n_tokens, n_tokens - 1 }) {
        if (n <= cparams.n_ubatch) {
            continue;
        }
        for (const h2o_plan & plan : cache.reserve_plans(n)) {
            h2o_probe_graph(lctx, cache, plan, n, sizes, res);

            if (res.reason != H2O_REASON_NONE) {
                return res;
            }
        }
    }
    return res;
}

uint32_t h2o_max_nodes(const llama_context & lctx, const h2o_cache & cache) {
    const llama_cparams & cparams = lctx.get_cparams();
    const llama_hparams & hparams = lctx.get_model().hparams;

    // per layer and chunk: intra (if each chunk is a batch of its own), inter, fusion and the policy's share, views
    // included
    uint64_t n_per_chunk = 80 + cache.engine.policy->n_nodes_per_chunk();

    if (cparams.h2o.trace == H2O_TRACE_MASS) {
        uint32_t n_head_max = 0;
        for (const int32_t il : cache.engine.store.layer_ids()) {
            n_head_max = std::max(n_head_max, hparams.n_head(il));
        }
        const int64_t n_per_sum = cache.engine.policy->traits.has_own_sets ? GGML_H2O_BLOCK : cparams.n_ubatch;

        if (n_head_max > 0) { // none where all layers have windows
            n_per_chunk += h2o_mass_max_nodes(cparams.n_ubatch, n_per_sum, cparams.n_ctx_seq, n_head_max);
        }
    }

    const uint64_t n_nodes = hparams.n_layer()*(128 + n_per_chunk*cache.get_n_graph_chunks());

    // a node takes some 400 bytes before it takes any data
    if (n_nodes > 1024*1024) {
        throw std::runtime_error(format("H2O would need a graph of %llu nodes for %u tokens in chunks of %u: "
                "use a smaller logical batch (-b, n_batch) or larger chunks (-ub, n_ubatch)",
                (unsigned long long) n_nodes, cparams.n_batch, cparams.n_ubatch));
    }
    return n_nodes;
}
