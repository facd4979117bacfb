#include "h2o-decode-sparse.h"

#include "h2o-decode-cells.h"
#include "h2o-decode-logits.h"
#include "h2o-decode-mask.h"
#include "h2o-decode-vec.h"
#include "h2o-select.h"
#include "h2o-share.h"
#include "h2o-sign-scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

// Four steps, each shared by all threads: what each head chooses, what the heads of a KV head read, their attention over pieces of
// it, and the merge of the pieces.

static constexpr int64_t H2O_LOCAL   = GGML_H2O_DECODE_LOCAL;
static constexpr int64_t H2O_PIECES  = 8;
static constexpr int64_t H2O_SAMPLES = 1024;

namespace {

// what all threads read and write, and what one has
struct h2o_sparse_work {
    h2o_sparse_work(const h2o_decode_op & op, void * data, int ith) : at((char *) GGML_PAD((uintptr_t) data, 64)) {
        chosen  = take<int32_t>(n_queries(op)*n_best(op));
        o       = take<float>(n_queries(op)*H2O_PIECES*op.d_v);
        max     = take<float>(n_queries(op)*H2O_PIECES);
        sum     = take<float>(n_queries(op)*H2O_PIECES);
        cells   = take<int32_t>(op.n_tokens*op.n_head_kv*op.n_kv);
        n_cells = take<int32_t>(op.n_tokens*op.n_head_kv);

        char * own = at;
        take_own(op);
        at = own + ith*(at - own);
        take_own(op);
    }

    // bytes for so many threads
    static size_t all(const h2o_decode_op & op, int n_threads) {
        return (uintptr_t) h2o_sparse_work(op, (void *) 64, n_threads).query; // which begins behind 64 bytes
    }

    // query heads of all tokens
    static int64_t n_queries(const h2o_decode_op & op) { return op.n_tokens*op.q->ne[1]; }

    // keys that one of them chooses
    static int64_t n_best(const h2o_decode_op & op) { return std::min<int64_t>(op.p.n_heavy, op.n_kv); }

    // room for the logits of a row in a piece
    static int64_t ld(const h2o_decode_op & op) { return op.n_kv/H2O_PIECES + 8 + H2O_STEP_ROOM; }

    int32_t * chosen; // [n_queries][n_best]: candidates, ascending
    float   * o;      // [n_queries][H2O_PIECES][d_v], not divided by the sum
    float   * max;    // [n_queries][H2O_PIECES]
    float   * sum;

    int32_t * cells;   // [n_tokens*n_head_kv][n_kv]: those that are read, ascending
    int32_t * n_cells; // [n_tokens*n_head_kv]

    float   * query;
    float   * scores; // of the candidates
    int32_t * good;   // candidates that are worth a comparison
    int32_t * keys;   // of these
    int32_t * best;   // among these

    uint8_t * is_in;  // [candidates] whether some head of the group chose it
    float   * q;      // [n_group] of rows in steps, scaled and packed
    float   * rows;   // a block of K or V
    float   * logits; // of each step [ld][h2o_step_pad]

private:
    char * at;

    template <typename T>
    T * take(int64_t n) {
        T * res = (T *) at;
        at += GGML_PAD(n*sizeof(T), 64);
        return res;
    }

    // of one thread
    void take_own(const h2o_decode_op & op) {
        query  = take<float>(h2o_sign_query::work_size(op.d_k));
        scores = take<float>(op.n_kv);
        good   = take<int32_t>(op.n_kv);
        keys   = take<int32_t>(op.n_kv);
        best   = take<int32_t>(op.n_kv);
        is_in  = take<uint8_t>(op.n_kv);
        q      = take<float>(op.n_group*h2o_packed_pad(op.d_k));
        rows   = take<float>(H2O_DECODE_BLOCK*std::max(op.d_k, op.d_v));
        logits = take<float>(h2o_steps_pad(op.n_group)*ld(op));
    }
};

// one token
struct h2o_sparse_token {
    const h2o_decode_op & op;

    const int64_t token;
    const int64_t n_seen;   // cells up to the last one that it sees
    const int64_t end_page; // candidates are pages [1, end_page)

    h2o_sparse_token(const h2o_decode_op & op, int64_t token) :
        op(op), token(token), n_seen(h2o_decode_n_seen(op, token)),
        end_page(std::min<int64_t>(((const int32_t *) op.range->data)[1], std::max<int64_t>(0, n_seen - H2O_LOCAL)/GGML_H2O_PAGE)) {}

    int64_t n_cand()  const { return std::max<int64_t>(0, end_page - 1)*GGML_H2O_PAGE; }
    bool    chooses() const { return n_cand() > op.p.n_heavy; }

    const float * q(int64_t head) const {
        return (const float *) (op.data(op.q) + token*op.q->nb[2] + head*op.q->nb[1]);
    }

    // what the mask adds to the logit of a cell
    float mask(int64_t cell) const { return h2o_decode_mask_at(op, token, cell); }
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

// the n_take best of n scores into out, ascending
static void h2o_take_best_scores(const h2o_sparse_work & w, int64_t n, int64_t n_take, int32_t * out) {
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
        out[i] = w.good[w.best[i]];
    }
}

static void h2o_choose(const h2o_sparse_token & t, const h2o_sparse_work & w, int64_t head) {
    const h2o_decode_op & op = t.op;

    const h2o_sign_query query(t.q(head), op.d_k, op.p.scale, w.query);
    for (int64_t page = 1; page < t.end_page; ++page) {
        query.score(h2o_signs_page(op.signs, op.d_k, page, head/op.n_group), w.scores + (page - 1)*GGML_H2O_PAGE);
    }
    h2o_take_best_scores(w, t.n_cand(), op.p.n_heavy, w.chosen + (t.token*op.q->ne[1] + head)*w.n_best(op));
}

// the cells that the heads of a KV head read: page 0, what any of them chose, and the last ones; of these what the token sees, as
// cells in a hole may hold anything. Returns how many
static int64_t h2o_find_cells(const h2o_sparse_token & t, const h2o_sparse_work & w, int64_t ih, int32_t * cells) {
    const h2o_decode_op & op = t.op;

    int64_t n = 0;

    const auto add = [&](int64_t cell) {
        cells[n] = cell;
        n += t.mask(cell) != -INFINITY;
    };

    if (!t.chooses()) {
        for (int64_t cell = 0; cell < t.n_seen; ++cell) {
            add(cell);
        }
        return n;
    }
    std::fill(w.is_in, w.is_in + t.n_cand(), 0);
    for (int64_t head = ih*op.n_group; head < (ih + 1)*op.n_group; ++head) {
        const int32_t * chosen = w.chosen + (t.token*op.q->ne[1] + head)*w.n_best(op);
        for (int64_t i = 0; i < op.p.n_heavy; ++i) {
            w.is_in[chosen[i]] = 1;
        }
    }

    for (int64_t cell = 0; cell < GGML_H2O_PAGE; ++cell) {
        add(cell);
    }
    for (int64_t i = 0; i < t.n_cand(); i += sizeof(uint64_t)) { // most of them are in no set
        uint64_t some;
        memcpy(&some, w.is_in + i, sizeof(some));
        for (int64_t k = i; some != 0 && k < i + (int64_t) sizeof(some); ++k) {
            if (w.is_in[k]) {
                add(GGML_H2O_PAGE + k);
            }
        }
    }
    for (int64_t cell = t.end_page*GGML_H2O_PAGE; cell < t.n_seen; ++cell) {
        add(cell);
    }
    return n;
}

// f(i, rows of the list from i on); those of the next block are fetched meanwhile
template <typename F>
static void h2o_each_block_of(const h2o_decode_cells & rows, const int32_t * list, int64_t n, int64_t ih, float * buf, F f) {
    for (int64_t i = 0; i < n; i += H2O_DECODE_BLOCK) {
        const int64_t   n_here = std::min(H2O_DECODE_BLOCK, n - i);
        const int32_t * next   = list + std::min(i + H2O_DECODE_BLOCK, n - n_here);

        rows.read(list + i, n_here, ih, buf, rows.places(next, ih), [&](const auto & block) { f(i, block); });
    }
}

static float h2o_value_at(const ggml_tensor * v, const char * src) {
    switch (v->type) {
        case GGML_TYPE_F32:  return h2o_value_of((const float       *) src, 0);
        case GGML_TYPE_F16:  return h2o_value_of((const ggml_fp16_t *) src, 0);
        case GGML_TYPE_BF16: return h2o_value_of((const ggml_bf16_t *) src, 0);
        default:             GGML_ABORT("a transposed V is not quantised");
    }
}

// the heads of a KV head over one piece of what they read
static void h2o_attend_piece(const h2o_sparse_token & t, const h2o_sparse_work & w, int64_t ih, int64_t piece) {
    const h2o_decode_op & op = t.op;

    const int64_t list  = t.token*op.n_head_kv + ih;
    const int64_t n_all = w.n_cells[list];
    const int64_t n_per = GGML_PAD((n_all + H2O_PIECES - 1)/H2O_PIECES, 4);
    const int64_t begin = std::min(n_all, piece*n_per);
    const int64_t n     = std::min(n_all, begin + n_per) - begin;

    const int32_t * cells = w.cells + list*op.n_kv + begin;

    const int64_t ld   = w.ld(op);
    const int64_t head = ih*op.n_group;

    const int64_t ld_q = h2o_packed_pad(op.d_k);

    h2o_in_steps(op.n_group, [&](auto n_rows, int64_t row) {
        h2o_pack_rows<n_rows>(w.q + row*ld_q, op.d_k, op.p.scale, [&](int64_t r) { return t.q(head + row + r); });
    });

    const h2o_decode_cells values(op, op.v);
    h2o_each_block_of(h2o_decode_cells(op, op.k), cells, n, ih, w.rows, [&](int64_t i, const auto & keys) {
        for (int64_t k = i; k < i + keys.n && !op.p.v_trans; ++k) {
            h2o_prefetch(values.at(cells[k], ih), values.size); // for later
        }
        h2o_in_steps(op.n_group, [&](auto n_rows, int64_t row) {
            h2o_products_of<n_rows>(w.q + row*ld_q, keys, op.d_k, w.logits + row*ld + i*h2o_step_pad(n_rows));
        });
    });

    const int64_t at = (t.token*op.q->ne[1] + head)*H2O_PIECES + piece; // of the first head

    h2o_in_steps(op.n_group, [&](auto n_rows, int64_t row) {
        constexpr int64_t n_side = h2o_step_pad(n_rows);

        float * x = w.logits + row*ld;

        if (op.p.cap > 0.0f) {
            h2o_cap_logits(x, n*n_side, op.p.cap);
        }
        for (int64_t i = 0; i < n; ++i) {
            const float mask = t.mask(cells[i]);
            for (int64_t r = 0; r < n_side; ++r) {
                x[i*n_side + r] += mask;
            }
        }

        float max[n_rows];
        float sum[n_rows] = {};
        float scale[n_rows];

        std::fill(max, max + n_rows, -INFINITY);
        h2o_weigh_step(x, n, n_rows, max, sum, scale);

        for (int64_t r = 0; r < n_rows; ++r) {
            w.max[at + (row + r)*H2O_PIECES] = max[r];
            w.sum[at + (row + r)*H2O_PIECES] = sum[r];
            std::fill_n(w.o + (at + (row + r)*H2O_PIECES)*op.d_v, op.d_v, 0.0f);
        }
    });

    float * o = w.o + at*op.d_v;

    const int64_t ld_o = H2O_PIECES*op.d_v; // from head to head

    if (op.p.v_trans) {
        for (int64_t j = 0; j < op.d_v; ++j) {
            const char * channel = op.data(op.v) + ih*op.v->nb[2] + j*op.v->nb[1];
            for (int64_t i = 0; i < n; ++i) {
                const float x = h2o_value_at(op.v, channel + cells[i]*op.v->nb[0]);

                h2o_in_steps(op.n_group, [&](auto n_rows, int64_t row) {
                    for (int64_t r = 0; r < n_rows; ++r) {
                        o[(row + r)*ld_o + j] += w.logits[row*ld + i*h2o_step_pad(n_rows) + r]*x;
                    }
                });
            }
        }
        return;
    }
    h2o_each_block_of(values, cells, n, ih, w.rows, [&](int64_t i, const auto & block) {
        h2o_in_steps(op.n_group, [&](auto n_rows, int64_t row) {
            h2o_add_weighted<n_rows>(w.logits + row*ld + i*h2o_step_pad(n_rows), block, op.d_v, o + row*ld_o, ld_o);
        });
    });
}

// the output of one query of one head
static void h2o_merge_pieces(const h2o_decode_op & op, const h2o_sparse_work & w, int64_t at, float * out) {
    const float   sink = op.sinks ? ((const float *) op.sinks->data)[at%op.q->ne[1]] : -INFINITY;
    const float * max  = w.max + at*H2O_PIECES;

    const float most = h2o_shift_of(std::max(sink, *std::max_element(max, max + H2O_PIECES)));

    std::fill(out, out + op.d_v, 0.0f);

    float sum = expf(sink - most);
    for (int64_t i = 0; i < H2O_PIECES; ++i) {
        const float weight = max[i] == -INFINITY ? (w.sum[at*H2O_PIECES + i] == 0.0f ? 0.0f : 1.0f) : expf(max[i] - most);

        for (int64_t j = 0; j < op.d_v; ++j) {
            out[j] += weight*w.o[(at*H2O_PIECES + i)*op.d_v + j];
        }
        sum += weight*w.sum[at*H2O_PIECES + i];
    }
    const float scale = sum == 0.0f ? 0.0f : 1.0f/sum;
    for (int64_t j = 0; j < op.d_v; ++j) {
        out[j] *= scale;
    }
}

void h2o_forward_decode_sparse(const ggml_compute_params * params, ggml_tensor * dst) {
    const h2o_decode_op   op(dst);
    const h2o_sparse_work w(op, params->wdata, params->ith);

    const int64_t n_head    = op.q->ne[1];
    const int64_t n_queries = w.n_queries(op);

    const auto share_out = [&](int64_t n, auto f) {
        h2o_share_out(params, n, f);
        ggml_barrier(params->threadpool);
    };

    share_out(n_queries, [&](int64_t i) {
        const h2o_sparse_token t(op, i/n_head);
        if (t.chooses()) {
            h2o_choose(t, w, i%n_head);
        }
    });
    share_out(op.n_tokens*op.n_head_kv, [&](int64_t i) {
        w.n_cells[i] = h2o_find_cells(h2o_sparse_token(op, i/op.n_head_kv), w, i%op.n_head_kv, w.cells + i*op.n_kv);
    });
    share_out(op.n_tokens*op.n_head_kv*H2O_PIECES, [&](int64_t i) {
        const h2o_sparse_token t(op, i/(op.n_head_kv*H2O_PIECES));

        h2o_attend_piece(t, w, i/H2O_PIECES%op.n_head_kv, i%H2O_PIECES);
    });
    for (int64_t i = params->ith; i < n_queries; i += params->nth) {
        h2o_merge_pieces(op, w, i, (float *) ((char *) dst->data + i/n_head*dst->nb[2] + i%n_head*dst->nb[1]));
    }
}

size_t h2o_decode_sparse_work_size(const ggml_tensor * dst, int n_tasks) {
    return h2o_sparse_work::all(h2o_decode_op(dst), n_tasks);
}
