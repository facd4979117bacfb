#include "attn-problem.h"
#include "device.h"


#include <cmath>

attn_problem::attn_problem(const attn_shape & shape, case_random & rnd) :
    shape(shape), scale(1.0f/sqrtf(shape.d)), cell0(shape.has_set ? 0 : rnd.integer(0, 7)) {
    const int n_spare = 5; // cells that a set leaves out
    n_cells = shape.has_set ? shape.n_keys + n_spare : cell0 + (shape.n_chunks - 1)*shape.stride() + shape.n_keys;

    q = rnd.uniforms(shape.n_state()*shape.d, shape.is_large ? 150.0f : 8.0f);

    if (shape.has_nan) {
        q[0] = NAN;
    }

    const int n_head = shape.n_head;
    k.reset(new test_cache({ shape.type_k, n_cells, n_head, shape.d, false,         shape.is_moved, false },         rnd));
    v.reset(new test_cache({ shape.type_v, n_cells, n_head, shape.d, shape.v_trans, shape.is_moved, shape.is_wide }, rnd));

    for (int i = 0; i < shape.n_set_heads()*shape.n_sets() && shape.has_set; ++i) {
        const std::vector<int32_t> of_head = rnd.ascending(shape.n_keys, n_cells);
        set.insert(set.end(), of_head.begin(), of_head.end());
    }
    if (shape.has_prev) {
        o_prev   = rnd.uniforms(shape.n_state()*shape.d, 1.0f);
        lse_prev = rnd.uniforms(shape.n_state(), 5.0f);
    }
}

attn_result<float> attn_by_kernels(const attn_problem & p, bool votes) {
    const attn_shape & shape = p.shape;

    set_device(shape.is_mma ? 860 : 750, shape.wants_split ? 1000 : 1, 99*1024);

    const device_buffer q  (p.q);
    const device_buffer set(p.set);
    const device_buffer o  (p.o_prev);
    const device_buffer lse(p.lse_prev);

    const ggml_context_ptr owner = new_context();

    ggml_context * ctx = owner.get();

    const int d        = shape.d;
    const int n_head   = shape.n_head*shape.n_group;
    const int n_tokens = shape.n_queries;
    const int n_chunks = shape.n_chunks;
    const int n_cells  = shape.has_set ? p.n_cells : shape.n_keys;

    ggml_tensor * dst = ggml_h2o_attn(ctx,
            new_tensor(ctx, GGML_TYPE_F32, d, n_head, n_tokens, n_chunks, q.data()),
            p.k->view(ctx, p.cell0, n_cells, n_chunks, shape.stride()),
            p.v->view(ctx, p.cell0, n_cells, n_chunks, shape.stride()),
            shape.has_set  ? new_tensor(ctx, GGML_TYPE_I32, shape.n_keys, shape.n_set_heads(), shape.n_sets(), 1, set.data()) : nullptr,
            shape.has_prev ? new_tensor(ctx, GGML_TYPE_F32, d, n_head, n_tokens, n_chunks, o.data())   : nullptr,
            shape.has_prev ? new_tensor(ctx, GGML_TYPE_F32, 1, n_head, n_tokens, n_chunks, lse.data()) : nullptr,
            shape.v_trans, shape.is_causal, votes, p.scale);

    const device_buffer out(ggml_nbytes(dst));
    dst->data = out.data();

    device_compute(dst);

    const float * begin_o     = out.as<float>();
    const float * begin_lse   = begin_o   + shape.n_state()*d;
    const float * begin_votes = begin_lse + shape.n_state();

    return {
        { begin_o,     begin_lse },
        { begin_lse,   begin_votes },
        { begin_votes, begin_votes + (votes ? shape.n_votes() : 0) },
    };
}
