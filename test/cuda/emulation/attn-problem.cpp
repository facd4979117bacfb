#include "attn-problem.h"

#include "kernels.h"

#include <algorithm>
#include <cmath>

attn_problem::attn_problem(const attn_shape & shape, emu_random & rnd) :
    shape(shape), scale(1.0f/sqrtf(shape.d)), cell0(shape.has_set ? 0 : rnd.integer(0, 7)) {
    const int n_spare = 5; // cells that a set leaves out
    const int n_cells = shape.has_set ? shape.n_keys + n_spare : cell0 + shape.n_chunks*shape.n_keys;

    const std::vector<float> x = rnd.uniforms(shape.n_state()*shape.d, shape.is_large ? 150.0f : 8.0f);
    q.reset(new emu_buffer(x.size()*sizeof(float)));
    std::copy(x.begin(), x.end(), q->as<float>());

    const int n_head = shape.n_head;
    k.reset(new test_cache({ shape.type_k, n_cells, n_head, shape.d, false,         shape.is_moved, false },         rnd));
    v.reset(new test_cache({ shape.type_v, n_cells, n_head, shape.d, shape.v_trans, shape.is_moved, shape.is_wide }, rnd));

    for (int ih = 0; ih < shape.n_head && shape.has_set; ++ih) {
        const std::vector<int32_t> of_head = rnd.ascending(shape.n_keys, n_cells);
        set.insert(set.end(), of_head.begin(), of_head.end());
    }
    if (shape.has_prev) {
        o_prev   = rnd.uniforms(shape.n_state()*shape.d, 1.0f);
        lse_prev = rnd.uniforms(shape.n_state(), 5.0f);
    }
}

attn_result<float> attn_by_kernels(const attn_problem & p) {
    const attn_shape & shape = p.shape;

    const size_t n_o     = shape.n_state()*shape.d;
    const size_t n_lse   = shape.n_state();
    const size_t n_votes = shape.n_votes();

    const emu_buffer out((n_o + n_lse + n_votes)*sizeof(float));

    h2o_attn_args args = {};

    args.q          = p.q->as<float>();
    args.k          = p.k->view(p.cell0, shape.n_keys);
    args.v          = p.v->view(p.cell0, shape.n_keys);
    args.set        = shape.has_set  ? p.set.data()      : nullptr;
    args.set_stride = shape.n_keys;
    args.o_prev     = shape.has_prev ? p.o_prev.data()   : nullptr;
    args.lse_prev   = shape.has_prev ? p.lse_prev.data() : nullptr;
    args.o          = out.as<float>();
    args.lse        = args.o   + n_o;
    args.votes      = args.lse + n_lse;
    args.n_rows     = shape.n_rows();
    args.n_keys     = shape.n_keys;
    args.n_head     = shape.n_head;
    args.n_chunks   = shape.n_chunks;
    args.n_group    = shape.n_group;
    args.n_split    = shape.n_split;
    args.causal     = shape.is_causal;
    args.scale      = p.scale;

    (shape.is_mma ? emu_attn_mma : emu_attn_plain)(args, shape.d);

    return {
        { args.o,     args.o     + n_o },
        { args.lse,   args.lse   + n_lse },
        { args.votes, args.votes + n_votes },
    };
}
