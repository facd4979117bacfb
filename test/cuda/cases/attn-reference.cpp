// GGML_H2O_OP_ATTN with plain loops in double precision, as ggml-h2o.h defines it: a row, its keys one after the other.

#include "attn-problem.h"

#include "tests/h2o-oracle.h"

attn_result<double> attn_by_loops(const attn_problem & p) {
    const attn_shape & shape = p.shape;
    const float      * q     = p.q.data();

    const int d      = shape.d;
    const int n_rows = shape.n_rows();

    attn_result<double> res;
    res.o.resize(shape.n_state()*d);
    res.lse.resize(shape.n_state());
    res.votes.resize(shape.n_votes());

    for (int ic = 0; ic < shape.n_chunks; ++ic) {
        for (int ih = 0; ih < shape.n_head; ++ih) {
            double * votes = res.votes.data() + ((size_t) ic*shape.n_head + ih)*shape.n_keys;

            for (int ir = 0; ir < n_rows; ++ir) {
                const size_t query  = (size_t) ic*shape.n_queries + ir/shape.n_group;
                const size_t row    = (query*shape.n_head + ih)*shape.n_group + ir%shape.n_group;
                const int    n_seen = shape.is_causal ? shape.n_near + ir/shape.n_group + 1 : shape.n_keys;

                std::vector<double> w(n_seen); // logits, then weights
                for (int j = 0; j < n_seen; ++j) {
                    for (int i = 0; i < d; ++i) {
                        w[j] += (double) q[row*d + i]*p.k->at(p.cell(ic, ih, ir%shape.n_group, ir/shape.n_group, j), ih, i);
                    }
                    w[j] *= p.scale;
                }
                const double lse   = h2o_oracle_softmax(w);
                const double share = shape.has_prev ? 1.0/(1.0 + exp(p.lse_prev[row] - lse)) : 1.0;

                res.lse[row] = lse;
                for (int i = 0; i < d && shape.has_prev; ++i) {
                    res.o[row*d + i] = (1.0 - share)*p.o_prev[row*d + i];
                }
                for (int j = 0; j < n_seen; ++j) {
                    if (!res.votes.empty()) {
                        votes[j] += w[j];
                    }
                    for (int i = 0; i < d; ++i) {
                        res.o[row*d + i] += share*w[j]*p.v->at(p.cell(ic, ih, ir%shape.n_group, ir/shape.n_group, j), ih, i);
                    }
                }
            }
        }
    }
    return res;
}
