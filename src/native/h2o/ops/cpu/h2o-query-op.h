// What the parts of GGML_H2O_OP_QUERY share: its inputs, and the working memory of a thread.

#pragma once

#include "h2o-amx.h"
#include "h2o-columns.h"
#include "h2o-gemm-int8.h"
#include "h2o-select.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cstdint>

// blocks of a head whose needy queries search together, and the rows that these are
static constexpr int64_t H2O_NEEDY_BLOCKS = 8;
static constexpr int64_t H2O_NEEDY_ROWS   = H2O_NEEDY_BLOCKS*GGML_H2O_NEEDY;

// how keys are scored one by one
enum h2o_scoring {
    H2O_SCORING_F32,
    H2O_SCORING_INT8,
};

static inline h2o_scoring h2o_choose_scoring(int64_t d) {
#ifdef H2O_HAS_INT8_SEARCH
    if (h2o_int8_available() && d % H2O_INT8_STEP == 0) {
        return H2O_SCORING_INT8;
    }
#endif
    GGML_UNUSED(d);
    return H2O_SCORING_F32;
}

// channels by which keys are scored one by one: h2o-query-channels.h
static inline int64_t h2o_count_channels(int64_t d, h2o_scoring scoring) {
#ifdef H2O_HAS_INT8_SEARCH
    if (scoring == H2O_SCORING_INT8 && d >= 64) {
        // without VNNI products take most of the search, and with it those of 64 channels little
        const int64_t n_least = H2O_INT8_KEY == 127 ? 64 : 32;

        return std::max<int64_t>(n_least, GGML_PAD(d/2, H2O_INT8_STEP));
    }
#endif
    GGML_UNUSED(scoring);
    return d;
}

// whether products are those of AMX's tiles, which take channels 32 at a time
static inline bool h2o_searches_in_tiles(int64_t d, h2o_scoring scoring) {
#ifdef H2O_HAS_AMX
    return scoring == H2O_SCORING_INT8 && d % H2O_AMX_K == 0 && h2o_amx_available();
#else
    GGML_UNUSED(d);
    GGML_UNUSED(scoring);
    return false;
#endif
}

// queries [begin, begin + n) of a head
struct h2o_query_block {
    int64_t ih;
    int64_t begin;
    int64_t n;
};

struct h2o_query_op {
    explicit h2o_query_op(const ggml_tensor * dst) :
        p(*ggml_h2o_get_query_params(dst)),
        sets(dst), q(dst->src[0]), lse(dst->src[1]), k(dst->src[2]), pages(dst->src[3]), landmarks(dst->src[4]),
        d(q->ne[0]), n_head(q->ne[1]), n_group(n_head/k->ne[2]), n_queries(q->ne[2]), n_blocks(dst->ne[2]),
        n_set(dst->ne[0]),
        n_searched(p.n_picked*GGML_H2O_PAGE + p.n_cand - p.n_pages*GGML_H2O_PAGE),
        scoring(h2o_choose_scoring(d)),
        tiles(h2o_searches_in_tiles(d, scoring)),
        n_channels(h2o_count_channels(d, scoring)) {}

    const ggml_h2o_query_params & p;

    const ggml_tensor * sets;
    const ggml_tensor * q;
    const ggml_tensor * lse;
    const ggml_tensor * k;
    const ggml_tensor * pages;
    const ggml_tensor * landmarks;

    const int64_t d;
    const int64_t n_head;  // each with a set of its own
    const int64_t n_group; // of them read the keys of one KV head
    const int64_t n_queries;
    const int64_t n_blocks;
    const int64_t n_set;
    const int64_t n_searched; // candidates that are scored key by key

    const h2o_scoring scoring;
    const bool        tiles;
    const int64_t     n_channels; // of d, that a key is scored by

    // rows that products take of the pages' means, and columns of the landmarks
    int64_t n_mean_rows()     const { return tiles ? GGML_PAD(p.n_pages, 32) : p.n_pages; }
    int64_t n_landmark_cols() const { return GGML_PAD(p.n_landmarks, H2O_PANEL); }

    // bytes that all threads share, of one KV head at a time: keys of the candidates as they are scored, the pages whose
    // means they are less, landmarks, and where they are split the means of pages
    int64_t n_keys()          const { return GGML_PAD(p.n_cand, GGML_H2O_PAGE); }
    size_t  size_rows()       const { return n_keys()*n_channels*(scoring == H2O_SCORING_F32 ? sizeof(float) : sizeof(int8_t)); }
    size_t  size_scales()     const { return n_keys()*sizeof(h2o_int8_scale); }
    size_t  size_mean_pages() const { return GGML_PAD(n_keys()/GGML_H2O_PAGE*sizeof(int32_t), align); }
    size_t  size_landmarks()  const { return n_landmark_cols()*d*sizeof(float); }
    size_t  size_means()      const { return tiles ? n_mean_rows()*d*sizeof(float) : 0; }
    size_t  size_shared()     const { return size_rows() + size_scales() + size_mean_pages() + size_landmarks() + size_means(); }

    // floats per thread
    int64_t size_queries()     const { return d*H2O_PANEL; }
    int64_t size_scaled()      const { return GGML_H2O_BLOCK*d; }
    int64_t size_part()        const { return n_channels + 16; } // whole vectors are stored
    int64_t size_mean_logits() const { return n_mean_rows()*H2O_PANEL; }
    int64_t size_most()        const { return n_searched_pages()*H2O_PANEL; }
    int64_t size_logits()      const {
        return std::max<int64_t>(GGML_PAD(n_searched, GGML_H2O_PAGE)*H2O_PANEL, n_landmark_cols()*H2O_NEEDY_ROWS);
    }

    int64_t n_searched_pages() const { return (n_searched + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE; }
    int64_t n_ranked()         const { return std::max<int64_t>({ p.n_landmarks, p.n_pages, n_searched, d }); }

    size_t size_thread() const {
        const size_t n =
            (size_queries() + size_scaled() + size_part() + size_mean_logits() + size_most() + size_logits())*sizeof(float) +
            n_ranked()*(sizeof(float) + 2*sizeof(int32_t)) + (n_searched_pages() + n_channels)*sizeof(int32_t) +
            d/16*sizeof(uint16_t);

        return GGML_PAD(n, align);
    }

    static constexpr size_t align = 64; // of the memory of a thread

    int64_t kv_head(int64_t ih) const { return ih/n_group; }

    h2o_query_block block(int64_t ih, int64_t ib) const {
        const int64_t begin = ib*GGML_H2O_BLOCK;

        return { ih, begin, std::min<int64_t>(GGML_H2O_BLOCK, n_queries - begin) };
    }

    int32_t * set_at(int64_t ih, int64_t ib) const {
        return (int32_t *) ((char *) sets->data + ih*sets->nb[1] + ib*sets->nb[2]);
    }

    const int32_t * landmarks_of(int64_t ih_kv) const {
        return (const int32_t *) ((const char *) landmarks->data + ih_kv*landmarks->nb[1]);
    }

    // they ascend, so those past the candidates are the last
    int64_t n_landmarks_of(int64_t ih_kv) const {
        const int32_t * at = landmarks_of(ih_kv);

        return std::lower_bound(at, at + p.n_landmarks, p.n_cand) - at;
    }

    // members of a set that needy queries choose, the first ones while it is made
    int64_t n_by_need(int64_t ih_kv) const { return std::min<int64_t>(p.n_by_need, n_landmarks_of(ih_kv)); }

    const float * pages_of(int64_t ih_kv) const {
        return (const float *) ((const char *) pages->data + ih_kv*pages->nb[2]);
    }

    float lse_at(int64_t query, int64_t ih) const {
        return ((const float *) lse->data)[query*n_head + ih];
    }

    const float * q_at(int64_t query, int64_t ih) const {
        return (const float *) q->data + (query*n_head + ih)*d;
    }

    // out [d]: the query, scaled
    void read_query(int64_t query, int64_t ih, float * out) const {
        const float * x = q_at(query, ih);

        for (int64_t i = 0; i < d; ++i) {
            out[i] = x[i]*p.scale;
        }
    }
};

// of one KV head: what all searches of its keys share
struct h2o_query_keys {
    h2o_query_keys(const h2o_query_op & op, const ggml_compute_params * params) {
        rows       = (char *) GGML_PAD((uintptr_t) params->wdata, h2o_query_op::align);
        scales     = (h2o_int8_scale *) (rows + op.size_rows());
        mean_pages = (int32_t *) ((char *) scales + op.size_scales());
        landmarks  = (float *) ((char *) mean_pages + op.size_mean_pages());
        means      = (float *) ((char *) landmarks + op.size_landmarks());
    }

    char           * rows;       // [n_keys][n_channels], as h2o_scoring has them
    h2o_int8_scale * scales;     // [n_keys], of H2O_SCORING_INT8
    int32_t        * mean_pages; // [n_keys/GGML_H2O_PAGE] h2o_page_of_mean, of H2O_SCORING_INT8
    float          * landmarks;  // as h2o_pack_landmarks leaves them
    float          * means;      // [n_pages][d] as h2o_keep_mean leaves them, where op.tiles
};

struct h2o_query_work {
    h2o_query_work(const h2o_query_op & op, const ggml_compute_params * params) {
        char * base = (char *) GGML_PAD((uintptr_t) params->wdata, h2o_query_op::align) +
            op.size_shared() + params->ith*op.size_thread();

        queries  = (float *) base;
        scaled   = queries + op.size_queries();
        part     = scaled  + op.size_scaled();
        means    = part    + op.size_part();
        most     = means   + op.size_mean_logits();
        logits   = most    + op.size_most();
        scores   = logits  + op.size_logits();
        keys     = (int32_t *) (scores + op.n_ranked());
        best     = keys  + op.n_ranked();
        pages    = best  + op.n_ranked();
        channels = pages + op.n_searched_pages();
        masks    = (uint16_t *) (channels + op.n_channels);
    }

    float    * queries;  // as columns
    float    * scaled;   // [GGML_H2O_BLOCK][d] queries
    float    * part;     // [n_channels] of a key or query
    float    * means;    // [n_pages][H2O_PANEL] logits of the pages' mean keys
    float    * most;     // [n_searched_pages][H2O_PANEL] the largest logit of each
    float    * logits;
    float    * scores;   // of what is ranked
    int32_t  * keys;
    int32_t  * best;     // of it, by index
    int32_t  * pages;    // that are searched key by key; the last may be none but what is left behind all whole ones
    int32_t  * channels; // [n_channels] of the KV head, ascending
    uint16_t * masks;    // [d/16] the same, bits of sixteen channels each
};
