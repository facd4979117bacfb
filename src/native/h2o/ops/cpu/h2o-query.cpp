#include "h2o-query.h"

#include "h2o-amx.h"
#include "h2o-columns.h"
#include "h2o-rows.h"
#include "h2o-select.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"
#include "vec.h"

#include <algorithm>
#include <cmath>
#include <optional>

// A thread takes a block of queries and a KV head from its needs to its set. Nothing is shared, so threads change no bit.

static constexpr size_t H2O_ALIGN = 64;

namespace {

struct h2o_query_op {
    explicit h2o_query_op(const ggml_tensor * dst) :
        p(*ggml_h2o_get_query_params(dst)),
        q(dst->src[0]), lse(dst->src[1]), k(dst->src[2]), pages(dst->src[3]), landmarks(dst->src[4]),
        d(q->ne[0]), n_head(k->ne[2]), n_group(q->ne[1]/n_head), n_queries(q->ne[2]), n_blocks(dst->ne[2]), n_set(dst->ne[0]),
        n_searched(p.n_picked*GGML_H2O_PAGE + p.n_cand - p.n_pages*GGML_H2O_PAGE),
        n_needy_cols(h2o_col_pad(GGML_H2O_NEEDY*n_group)),
        is_rounded(h2o_amx_available() && d % 32 == 0) {}

    const ggml_h2o_query_params & p;

    const ggml_tensor * q;
    const ggml_tensor * lse;
    const ggml_tensor * k;
    const ggml_tensor * pages;
    const ggml_tensor * landmarks;

    const int64_t d;
    const int64_t n_head; // KV heads
    const int64_t n_group;
    const int64_t n_queries;
    const int64_t n_blocks;
    const int64_t n_set;
    const int64_t n_searched; // candidates that are scored key by key
    const int64_t n_needy_cols;
    const bool    is_rounded; // scores of keys in tiles of BF16

    // floats per thread
    int64_t size_queries() const { return (d + 1)*std::max<int64_t>(H2O_PANEL, n_needy_cols); }
    int64_t size_mean()    const { return GGML_H2O_BLOCK*d; }
    int64_t size_keys()    const { return GGML_H2O_PAGE*d; }
    int64_t size_logits()  const { return std::max<int64_t>(GGML_PAD(n_searched, GGML_H2O_PAGE)*H2O_PANEL, GGML_H2O_PAGE*n_needy_cols); }

    int64_t n_ranked() const { return std::max<int64_t>({ p.n_landmarks, p.n_pages, n_searched }); }

    size_t size_thread() const {
        const size_t n =
            (size_queries() + size_mean() + size_keys() + size_logits())*sizeof(float) +
            n_ranked()*sizeof(h2o_candidate) + n_searched*sizeof(int32_t);

        return GGML_PAD(n, H2O_ALIGN);
    }

    float lse_at(int64_t query, int64_t ih, int64_t ig) const {
        return ((const float *) lse->data)[(query*n_head + ih)*n_group + ig];
    }

    const float * q_at(int64_t query, int64_t ih, int64_t ig) const {
        return (const float *) q->data + ((query*n_head + ih)*n_group + ig)*d;
    }
};

struct h2o_query_work {
    h2o_query_work(const h2o_query_op & op, const ggml_compute_params * params) {
        char * base = (char *) GGML_PAD((uintptr_t) params->wdata, H2O_ALIGN) + params->ith*op.size_thread();

        queries  = (float *) base;
        mean     = queries + op.size_queries();
        keys     = mean    + op.size_mean();
        logits   = keys    + op.size_keys();
        ranked   = (h2o_candidate *) (logits + op.size_logits());
        searched = (int32_t *) (ranked + op.n_ranked());
    }

    float         * queries; // as columns
    float         * mean;    // [GGML_H2O_BLOCK][d] queries averaged over the group
    float         * keys;    // [GGML_H2O_PAGE][d]
    float         * logits;
    h2o_candidate * ranked;
    int32_t       * searched;
};

// queries [begin, begin + n) of a KV head
struct h2o_query_block {
    int64_t ih;
    int64_t begin;
    int64_t n;
};

}

// The needy queries: those whose own surroundings give them the least, by log-sum-exp per key averaged over the group;
// ties to the lower position.
static int64_t h2o_find_needy(const h2o_query_op & op, const h2o_query_block & b, int64_t n_near, int32_t * out) {
    h2o_candidate c[GGML_H2O_BLOCK];

    for (int64_t i = 0; i < b.n; ++i) {
        float sum = 0.0f;
        for (int64_t ig = 0; ig < op.n_group; ++ig) {
            sum += op.lse_at(b.begin + i, b.ih, ig);
        }
        const float need = sum/op.n_group - logf(n_near + b.begin + i + 1);

        c[i] = { h2o_order_key(-need), (int32_t) (b.begin + i) };
    }
    const int64_t n = h2o_take_best(c, b.n, GGML_H2O_NEEDY);

    for (int64_t i = 0; i < n; ++i) {
        out[i] = c[i].pos;
    }
    return n;
}

// the landmarks that needy queries want most, into w.ranked
static int64_t h2o_choose_by_need(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near) {
    int32_t needy[GGML_H2O_NEEDY];
    const int64_t n_needy = h2o_find_needy(op, b, n_near, needy);
    const int64_t n_cols  = op.n_needy_cols;

    h2o_pack_queries(w.queries, n_cols, op.d, n_needy*op.n_group, op.p.scale, [&](int64_t i) {
        return op.q_at(needy[i/op.n_group], b.ih, i%op.n_group);
    });

    float * shift = w.mean; // not used yet
    std::fill(shift, shift + n_cols, -INFINITY);
    for (int64_t i = 0; i < n_needy*op.n_group; ++i) {
        shift[i] = -op.lse_at(needy[i/op.n_group], b.ih, i%op.n_group);
    }

    const h2o_cells keys(op.k, b.ih);
    const int32_t * at = (const int32_t *) ((const char *) op.landmarks->data + b.ih*op.landmarks->nb[1]);

    // ascending, so that those past the candidates are the last
    int64_t n_all = op.p.n_landmarks;
    while (n_all > 0 && at[n_all - 1] >= op.p.n_cand) {
        --n_all;
    }

    for (int64_t i = 0; i < n_all; i += GGML_H2O_PAGE) {
        const int64_t n = std::min<int64_t>(GGML_H2O_PAGE, n_all - i);

        for (int64_t j = 0; j < n; ++j) {
            keys.read(at[i + j], w.keys + j*op.d);
        }
        h2o_gemm(n, n_cols, op.d, { w.keys, op.d, 1 }, w.queries, n_cols, w.logits, n_cols);

        for (int64_t j = 0; j < n; ++j) {
            w.ranked[i + j] = { h2o_row_max_shifted(w.logits + j*n_cols, shift, n_cols), at[i + j] };
        }
    }
    return h2o_take_best(w.ranked, n_all, op.p.n_by_need);
}

// The pages where the block's queries, averaged over the group and in pairs, find most, into w.ranked: by the log of the
// mean e^logit of a page's keys, to the second order around its mean key, over log-sum-exp of the surroundings.
// means: [GGML_H2O_BLOCK][d] scaled; near: their log-sum-exp
static int64_t h2o_pick_pages(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, const float * means, const float * near) {
    constexpr int64_t n_cols = H2O_PANEL/2;

    const float * pages = (const float *) ((const char *) op.pages->data + b.ih*op.pages->nb[2]);
    const int64_t n_row = op.pages->nb[1]/sizeof(float); // d + 1

    float * pairs = w.keys; // [n_cols][d + 1]
    float   shift[n_cols];

    std::fill(shift, shift + n_cols, -INFINITY);
    for (int64_t i = 0; i < b.n; i += 2) {
        const bool    is_pair = i + 1 < b.n;
        const float * x       = means + i*op.d;
        const float * y       = is_pair ? x + op.d : x;
        float       * out     = pairs + i/2*n_row;

        float square = 0.0f;
        for (int64_t j = 0; j < op.d; ++j) {
            out[j]  = 0.5f*(x[j] + y[j]);
            square += out[j]*out[j];
        }
        out[op.d]  = 0.5f*square;
        shift[i/2] = -0.5f*(near[i] + near[is_pair ? i + 1 : i]);
    }
    h2o_pack_queries(w.queries, n_cols, n_row, (b.n + 1)/2, 1.0f, [&](int64_t i) { return pairs + i*n_row; });

    for (int64_t i = 0; i < op.p.n_pages; i += GGML_H2O_PAGE) {
        const int64_t n = std::min<int64_t>(GGML_H2O_PAGE, op.p.n_pages - i);

        h2o_gemm(n, n_cols, n_row, { pages + i*n_row, n_row, 1 }, w.queries, n_cols, w.logits, n_cols);

        for (int64_t j = 0; j < n; ++j) {
            w.ranked[i + j] = { h2o_row_max_shifted(w.logits + j*n_cols, shift, n_cols), (int32_t) (i + j) };
        }
    }
    return h2o_take_best(w.ranked, op.p.n_pages, op.p.n_picked);
}

// the positions that are to be scored key by key: the best pages and what is left behind the last one, ascending
static void h2o_find_searched(
        const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, const float * means, const float * near) {
    const bool    is_choice = op.p.n_picked < op.p.n_pages;
    const int64_t n_picked  = is_choice ? h2o_pick_pages(op, w, b, means, near) : op.p.n_pages;

    int32_t * out = w.searched;
    for (int64_t i = 0; i < n_picked; ++i) {
        const int32_t page = is_choice ? w.ranked[i].pos : i;

        for (int32_t j = 0; j < GGML_H2O_PAGE; ++j) {
            *out++ = page*GGML_H2O_PAGE + j;
        }
    }
    for (int32_t pos = op.p.n_pages*GGML_H2O_PAGE; pos < op.p.n_cand; ++pos) {
        *out++ = pos;
    }
}

// the logits of w.searched for w.mean, the block's queries averaged over the group: w.logits [n_searched][H2O_PANEL]
static void h2o_score_searched(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b) {
    const h2o_cells keys(op.k, b.ih);

    const auto read = [&](int64_t i) {
        const int64_t n = std::min<int64_t>(GGML_H2O_PAGE, op.n_searched - i);

        for (int64_t j = 0; j < n; ++j) {
            keys.read(w.searched[i + j], w.keys + j*op.d);
        }
        return n;
    };

#ifdef H2O_HAS_AMX
    if (op.is_rounded) {
        uint16_t * queries = (uint16_t *) w.queries;
        uint16_t * rounded = queries + H2O_PANEL*op.d; // of the keys

        h2o_amx_pack_rounded(w.mean, op.d, H2O_PANEL, queries);

        for (int64_t i = 0; i < op.n_searched; i += GGML_H2O_PAGE) {
            h2o_amx_round(w.keys, rounded, read(i)*op.d);

            for (int64_t row = 0; row < GGML_H2O_PAGE; row += H2O_AMX_ROWS) {
                for (int64_t col = 0; col < H2O_PANEL; col += H2O_AMX_COLS) {
                    h2o_amx_gemm_rounded(rounded + row*op.d, op.d, queries + col*op.d, 16*op.d, op.d,
                            w.logits + (i + row)*H2O_PANEL + col, H2O_PANEL);
                }
            }
        }
        return;
    }
#endif

    h2o_pack_queries(w.queries, H2O_PANEL, op.d, b.n, 1.0f, [&](int64_t i) { return w.mean + i*op.d; });

    for (int64_t i = 0; i < op.n_searched; i += GGML_H2O_PAGE) {
        const int64_t n = read(i);

        h2o_gemm(n, H2O_PANEL, op.d, { w.keys, op.d, 1 }, w.queries, H2O_PANEL, w.logits + i*H2O_PANEL, H2O_PANEL);
    }
}

// The best of w.searched for the block's queries, averaged over the group, into w.ranked: the largest share that a
// position has in what a query would see, of its surroundings and of all that is searched. Without those in `taken`.
static int64_t h2o_choose_by_all(
        const h2o_query_op    & op,
        const h2o_query_work  & w,
        const h2o_query_block & b,
        const int32_t         * taken,
        int64_t                 n_taken) {
    const float inv_group = 1.0f/op.n_group;

    float near [H2O_PANEL]; // log-sum-exp of the surroundings
    float shift[H2O_PANEL];

    std::fill(near, near + H2O_PANEL, INFINITY); // no query
    std::fill(w.mean + b.n*op.d, w.mean + H2O_PANEL*op.d, 0.0f);
    for (int64_t i = 0; i < b.n; ++i) {
        float * mean = w.mean + i*op.d;

        std::fill(mean, mean + op.d, 0.0f);
        near[i] = 0.0f;
        for (int64_t ig = 0; ig < op.n_group; ++ig) {
            const float * q = op.q_at(b.begin + i, b.ih, ig);
            for (int64_t j = 0; j < op.d; ++j) {
                mean[j] += q[j];
            }
            near[i] += op.lse_at(b.begin + i, b.ih, ig);
        }
        ggml_vec_scale_f32(op.d, mean, op.p.scale*inv_group);
        near[i] *= inv_group;
    }
    h2o_find_searched(op, w, b, w.mean, near);

    h2o_score_searched(op, w, b);

    // log-sum-exp of the surroundings and all that is searched
    float max[H2O_PANEL];
    float sum[H2O_PANEL];

    std::copy(near, near + H2O_PANEL, max);
    h2o_columns_max(w.logits, op.n_searched, H2O_PANEL, max);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = -max[i];
        sum  [i] = i < b.n ? expf(near[i] - max[i]) : 0.0f;
    }
    h2o_columns_exp<false>(w.logits, op.n_searched, H2O_PANEL, shift, sum);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = i < b.n ? -(max[i] + logf(sum[i])) : -INFINITY;
    }

    int64_t n_left = 0;
    int64_t i_next = 0; // of taken

    for (int64_t i = 0; i < op.n_searched; ++i) {
        const int32_t pos = w.searched[i];

        while (i_next < n_taken && taken[i_next] < pos) {
            ++i_next;
        }
        if (i_next < n_taken && taken[i_next] == pos) {
            continue;
        }
        w.ranked[n_left++] = { h2o_row_max_shifted(w.logits + i*H2O_PANEL, shift, H2O_PANEL), pos };
    }
    return h2o_take_best(w.ranked, n_left, op.n_set - n_taken);
}

static void h2o_query_of_block(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b, int64_t n_near, int32_t * out) {
    if (op.n_set == op.p.n_cand) {
        for (int64_t i = 0; i < op.n_set; ++i) {
            out[i] = i;
        }
        return;
    }

    const int64_t n_by_need = h2o_choose_by_need(op, w, b, n_near);

    // `out` keeps them while the others are chosen
    for (int64_t i = 0; i < n_by_need; ++i) {
        out[i] = w.ranked[i].pos;
    }
    const int64_t n_by_all = h2o_choose_by_all(op, w, b, out, n_by_need);

    for (int64_t i = 0; i < n_by_all; ++i) {
        out[n_by_need + i] = w.ranked[i].pos;
    }
    std::inplace_merge(out, out + n_by_need, out + n_by_need + n_by_all);
}

void h2o_forward_query(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_query_op   op(dst);
    const h2o_query_work w(op, params);

#ifdef H2O_HAS_AMX
    std::optional<h2o_amx_scope> tiles;
    if (op.is_rounded) {
        tiles.emplace();
    }
#endif

    for (int64_t i = params->ith; i < op.n_head*op.n_blocks; i += params->nth) {
        const int64_t ih    = i/op.n_blocks;
        const int64_t ib    = i%op.n_blocks;
        const int64_t begin = ib*GGML_H2O_BLOCK;

        const h2o_query_block b = { ih, begin, std::min<int64_t>(GGML_H2O_BLOCK, op.n_queries - begin) };

        h2o_query_of_block(op, w, b, op.p.n_near, (int32_t *) ((char *) dst->data + ih*dst->nb[1] + ib*dst->nb[2]));
    }
}

size_t h2o_query_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_query_op(dst).size_thread() + H2O_ALIGN;
}
