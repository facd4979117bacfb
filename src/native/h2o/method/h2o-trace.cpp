#include "h2o-trace.h"

#include "h2o-mass.h"

#include "ggml-backend.h"

#include <algorithm>

void h2o_trace_log::begin_graph() {
    nodes.clear();
}

void h2o_trace_log::keep(
        const h2o_layer  & l,
        const h2o_plan   & plan,
        int32_t            ic,
        int64_t            n_heads,
        const h2o_set    & set,
        const h2o_scores & scores,
        ggml_tensor      * ones) {
    node n = {};
    n.entry.il      = l.il;
    n.entry.pos     = plan.chunk_pos(ic);
    n.entry.n_chunk = plan.chunk_len(ic);
    n.entry.n_heads = n_heads;
    n.entry.n_near  = plan.n_near(ic);
    n.entry.n_mem   = set.members ? set.members->ne[0] : 0;
    n.entry.n_sets  = set.members ? set.members->ne[2] : 0;

    n.mem_pos     = set.members;
    n.order       = set.order;
    n.mem_score   = set.members ? scores.set : nullptr;
    n.chunk_score = scores.chunk ? ggml_cont(l.ctx, scores.chunk) : nullptr;

    if (plan.trace == H2O_TRACE_MASS) {
        ggml_tensor * q = ggml_view_3d(l.ctx, l.q, l.q->ne[0], l.q->ne[1], n.entry.n_chunk, l.q->nb[1], l.q->nb[2],
                plan.chunk_token(ic)*l.q->nb[2]);

        n.mass = h2o_build_mass(l.ctx, l.gf, q, set.order, l.k, ones, l.softmax, n_heads, n.entry.pos,
                n.entry.n_sets > 1 ? GGML_H2O_BLOCK : n.entry.n_chunk);
    }

    for (ggml_tensor * t : { n.mem_pos, n.order, n.mem_score, n.chunk_score, n.mass }) {
        if (t) {
            ggml_set_output(t);
            ggml_build_forward_expand(l.gf, t);
        }
    }
    nodes.push_back(n);
}

const void * h2o_trace_log::copy(const ggml_tensor * t) {
    if (!t) {
        return nullptr;
    }
    data.emplace_back(ggml_nbytes(t));
    ggml_backend_tensor_get(t, data.back().data(), 0, data.back().size());
    return data.back().data();
}

void h2o_trace_log::read() {
    for (const node & n : nodes) {
        entries.push_back(n.entry);

        h2o_trace & entry = entries.back();
        entry.mem_pos     = (const int32_t *) copy(n.mem_pos);
        entry.order       = (const int32_t *) copy(n.order);
        entry.mem_score   = (const float   *) copy(n.mem_score);
        entry.chunk_score = (const float   *) copy(n.chunk_score);
        entry.mass        = (const float   *) copy(n.mass);
    }
}

void h2o_trace_log::sort() {
    std::stable_sort(entries.begin(), entries.end(), [](const auto & a, const auto & b) { return a.il < b.il; });
}

void h2o_trace_log::clear() {
    entries.clear();
    data.clear();
}
