#include "h2o-decode-sparse.h"

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-vec.h"
#include "h2o-select.h"
#include "h2o-sign-scores.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

static constexpr int64_t H2O_LOCAL   = GGML_H2O_DECODE_LOCAL;
static constexpr int64_t H2O_SAMPLES = 1024;
static constexpr int64_t H2O_AHEAD   = 16; // rows that are fetched before they are read

namespace {

// of a thread
struct h2o_sparse_work {
    h2o_sparse_work(const h2o_decode_op & op, char * work) {
        const auto take = [&](auto *& to, int64_t n) {
            to = (std::remove_reference_t<decltype(to)>) work;
            work += size(n);
        };
        take(query,  h2o_sign_query::work_size(op.d_k));
        take(q,      op.d_k);
        take(rows,   4*std::max(op.d_k, op.d_v));
        take(out,    op.d_v);
        take(logits, h2o_row_pad(op.n_kv) + 4);
        take(scores, op.n_kv);
        take(cells,  op.n_kv);
        take(good,   op.n_kv);
        take(keys,   op.n_kv);
        take(best,   op.n_kv);
    }

    static size_t all(const h2o_decode_op & op) {
        return size(h2o_sign_query::work_size(op.d_k)) + size(op.d_k) + size(4*std::max(op.d_k, op.d_v)) + size(op.d_v) +
            size(h2o_row_pad(op.n_kv) + 4) + 5*size(op.n_kv);
    }

    float   * query;
    float   * q;      // [d_k], scaled
    float   * rows;   // four of K or V
    float   * out;    // [d_v]
    float   * logits; // of the cells
    float   * scores; // of the candidates; then what the mask adds
    int32_t * cells;  // those that are read, ascending
    int32_t * good;   // candidates that are worth a comparison
    int32_t * keys;   // of these
    int32_t * best;   // among these

private:
    // bytes of n floats or ints, in whole cache lines
    static size_t size(int64_t n) { return GGML_PAD(n*sizeof(float), 64); }
};

// one query of one head
struct h2o_sparse_query {
    const h2o_decode_op & op;

    const int64_t token;
    const int64_t head;
    const int64_t ih; // KV head

    h2o_sparse_query(const h2o_decode_op & op, int64_t at) :
        op(op), token(at/op.q->ne[1]), head(at%op.q->ne[1]), ih(head/op.n_group) {}

    const float * q() const { return (const float *) ((const char *) op.q->data + token*op.q->nb[2] + head*op.q->nb[1]); }

    // what the mask adds to the logit of a cell
    float mask(int64_t cell) const {
        const char * row = (const char *) op.mask->data + token*op.mask->nb[1];

        return op.mask->type == GGML_TYPE_F16 ? GGML_CPU_FP16_TO_FP32(((const ggml_fp16_t *) row)[cell]) : ((const float *) row)[cell];
    }

    // cells up to the last one that it sees
    int64_t n_seen() const {
        int64_t n = op.n_kv;
        while (n > 0 && mask(n - 1) == -INFINITY) {
            --n;
        }
        return n;
    }
};

}

// Roughly what the n_take best of n scores reach, from a sample: a few more reach it.
static float h2o_guess_least(const float * scores, int64_t n, int64_t n_take, int32_t * keys) {
    const int64_t step = n/H2O_SAMPLES;
    if (step < 2) {
        return -INFINITY;
    }
    float sample[H2O_SAMPLES];
    for (uint32_t i = 0; i < H2O_SAMPLES; ++i) {
        sample[i] = scores[i*step + (i*2654435761u >> 16)%step]; // texts repeat: no fixed stride
    }
    const double  expected = (double) n_take/step;
    const int64_t n_best   = (int64_t) (1.25*expected + 3.0*std::sqrt(expected)) + 1;
    if (n_best >= H2O_SAMPLES) {
        return -INFINITY;
    }
    h2o_order_keys(sample, H2O_SAMPLES, keys);
    const int32_t least = h2o_least_of_best(keys, H2O_SAMPLES, n_best);
    const int32_t bits  = least < 0 ? least ^ INT32_MAX : least;

    float res;
    memcpy(&res, &bits, sizeof(res));
    return res;
}

static int64_t h2o_find_good(const float * scores, int64_t n, float least, int32_t * good) {
    constexpr int64_t step = GGML_H2O_PAGE;

    int64_t n_good = 0;
    for (int64_t i = 0; i < n; i += step) { // whole pages
        int32_t n_here = 0;
        for (int64_t k = 0; k < step; ++k) {
            n_here += scores[i + k] >= least;
        }
        for (int64_t k = 0; n_here > 0; ++k) {
            if (scores[i + k] >= least) {
                good[n_good++] = i + k;
                --n_here;
            }
        }
    }
    return n_good;
}

// the n_take best of n scores into out, ascending from `first` on
static void h2o_take_best_scores(const h2o_sparse_work & w, int64_t n, int64_t n_take, int64_t first, int32_t * out) {
    int64_t n_good = h2o_find_good(w.scores, n, h2o_guess_least(w.scores, n, n_take, w.keys), w.good);
    if (n_good < n_take) {
        std::iota(w.good, w.good + n, 0);
        n_good = n;
    }
    for (int64_t i = 0; i < n_good; ++i) {
        w.scores[i] = w.scores[w.good[i]]; // never behind what is read
    }
    h2o_order_keys(w.scores, n_good, w.keys);
    h2o_take_best(w.keys, n_good, n_take, w.best);

    for (int64_t i = 0; i < n_take; ++i) {
        out[i] = first + w.good[w.best[i]];
    }
}

// the cells that a query chooses, and the edges, into w.cells
static int64_t h2o_choose_cells(const h2o_sparse_query & s, const h2o_sparse_work & w) {
    const h2o_decode_op & op = s.op;

    const int64_t n_seen   = s.n_seen();
    const int64_t n_pages  = ((const int32_t *) op.range->data)[1];
    const int64_t end_page = std::min(n_pages, std::max<int64_t>(0, n_seen - H2O_LOCAL)/GGML_H2O_PAGE);
    const int64_t n_cand   = std::max<int64_t>(0, end_page - 1)*GGML_H2O_PAGE;

    if (n_cand <= op.p.n_heavy) {
        std::iota(w.cells, w.cells + n_seen, 0);
        return n_seen;
    }
    const h2o_sign_query query(s.q(), op.d_k, op.p.scale, w.query);
    for (int64_t page = 1; page < end_page; ++page) {
        query.score(h2o_signs_page(op.signs, op.d_k, page, s.ih), w.scores + (page - 1)*GGML_H2O_PAGE);
    }

    int32_t * at = w.cells;
    std::iota(at, at + GGML_H2O_PAGE, 0);
    at += GGML_H2O_PAGE;

    h2o_take_best_scores(w, n_cand, op.p.n_heavy, GGML_H2O_PAGE, at);
    at += op.p.n_heavy;

    const int64_t n_last = n_seen - end_page*GGML_H2O_PAGE;
    std::iota(at, at + n_last, end_page*GGML_H2O_PAGE);

    return at + n_last - w.cells;
}

// those of them that it sees, with what the mask adds to their logits in w.scores
static int64_t h2o_find_cells(const h2o_sparse_query & s, const h2o_sparse_work & w) {
    const int64_t n_all = h2o_choose_cells(s, w);

    int64_t n = 0;
    for (int64_t i = 0; i < n_all; ++i) {
        const float mask = s.mask(w.cells[i]);
        if (mask != -INFINITY) {
            w.cells [n]   = w.cells[i];
            w.scores[n++] = mask;
        }
    }
    return n;
}

// f(i, four rows of the list from i on); past the last one it is repeated
template <typename F>
static void h2o_each_four_of(const h2o_decode_cells & rows, const int32_t * list, int64_t n, int64_t ih, float * buf, F f) {
    for (int64_t i = 0; i < std::min(n, H2O_AHEAD); ++i) {
        rows.fetch(list[i], ih);
    }
    for (int64_t i = 0; i < n; i += 4) {
        h2o_four four;
        for (int64_t k = 0; k < 4; ++k) {
            if (i + k + H2O_AHEAD < n) {
                rows.fetch(list[i + k + H2O_AHEAD], ih);
            }
            four.row[k] = i + k < n ? rows.get(list[i + k], ih, buf + k*rows.d) : four.row[k - 1];
        }
        f(i, four);
    }
}

static float h2o_value_at(const ggml_tensor * v, const char * src) {
    switch (v->type) {
        case GGML_TYPE_F32:  return *(const float *) src;
        case GGML_TYPE_F16:  return GGML_CPU_FP16_TO_FP32(*(const ggml_fp16_t *) src);
        case GGML_TYPE_BF16: return GGML_BF16_TO_FP32(*(const ggml_bf16_t *) src);
        default:             GGML_ABORT("a transposed V is not quantised");
    }
}

static void h2o_attend_sparse(const h2o_sparse_query & s, const h2o_sparse_work & w, float * out) {
    const h2o_decode_op & op = s.op;

    const int64_t n = h2o_find_cells(s, w);

    const float * q = s.q();
    for (int64_t j = 0; j < op.d_k; ++j) {
        w.q[j] = q[j]*op.p.scale;
    }
    const h2o_decode_cells values(op.v);
    h2o_each_four_of(h2o_decode_cells(op.k), w.cells, n, s.ih, w.rows, [&](int64_t i, h2o_four keys) {
        for (int64_t k = i; k < std::min(n, i + 4) && !op.p.v_trans; ++k) {
            values.fetch(w.cells[k], s.ih); // for later
        }
        h2o_products_of<1>(w.q, op.d_k, keys, op.d_k, w.logits + i, 4);
    });

    const int64_t n_pad = h2o_row_pad(n);
    std::fill(w.logits + n, w.logits + n_pad, -INFINITY);
    if (op.p.cap > 0.0f) {
        h2o_cap_logits(w.logits, n, op.p.cap);
    }
    for (int64_t i = 0; i < n; ++i) {
        w.logits[i] += w.scores[i];
    }

    const float sink = op.sinks ? ((const float *) op.sinks->data)[s.head] : -INFINITY;
    const float max  = h2o_shift_of(std::max(sink, h2o_row_max(w.logits, n_pad)));
    const float sum  = h2o_row_exp(w.logits, n_pad, max) + expf(sink - max);

    std::fill(w.out, w.out + op.d_v, 0.0f);
    if (op.p.v_trans) {
        for (int64_t j = 0; j < op.d_v; ++j) {
            const char * channel = (const char *) op.v->data + s.ih*op.v->nb[2] + j*op.v->nb[1];
            for (int64_t i = 0; i < n; ++i) {
                w.out[j] += w.logits[i]*h2o_value_at(op.v, channel + w.cells[i]*op.v->nb[0]);
            }
        }
    } else {
        h2o_each_four_of(values, w.cells, n, s.ih, w.rows, [&](int64_t i, h2o_four four) {
            h2o_add_weighted<1>(w.logits + i, 4, four, op.d_v, w.out, op.d_v);
        });
    }

    const float scale = sum == 0.0f ? 0.0f : 1.0f/sum;
    for (int64_t j = 0; j < op.d_v; ++j) {
        out[j] = w.out[j]*scale;
    }
}

void h2o_forward_decode_sparse(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_decode_op op(dst);

    char * work = (char *) GGML_PAD((uintptr_t) params->wdata, 64);

    const h2o_sparse_work w(op, work + params->ith*h2o_sparse_work::all(op));

    if (params->ith == 0) {
        ggml_threadpool_chunk_set(params->threadpool, params->nth);
    }
    ggml_barrier(params->threadpool);

    const int64_t n = op.n_tokens*op.q->ne[1];

    for (int64_t i = params->ith; i < n; i = ggml_threadpool_chunk_add(params->threadpool, 1)) {
        const h2o_sparse_query s(op, i);

        h2o_attend_sparse(s, w, (float *) ((char *) dst->data + s.token*dst->nb[2] + s.head*dst->nb[1]));
    }
}

size_t h2o_decode_sparse_work_size(const ggml_tensor * dst, int n_tasks) {
    return n_tasks*h2o_sparse_work::all(h2o_decode_op(dst)) + 64;
}
