// What the parts of GGML_H2O_OP_QUERY share: its inputs, and its working memory.

#pragma once

#include "h2o-amx.h"
#include "h2o-block-sets.h"
#include "h2o-columns.h"
#include "h2o-gemm-int8.h"
#include "h2o-select.h"

#include "../ggml-h2o.h"

#include "ggml-cpu-impl.h"

#include <algorithm>
#include <cstdint>

static inline int h2o_count_bits(uint64_t x) {
#ifdef __GNUC__
    return __builtin_popcountll(x);
#else
    int res = 0;
    for (; x != 0; x &= x - 1) {
        ++res;
    }
    return res;
#endif
}

// x is not 0
static inline int h2o_lowest_bit(uint64_t x) { return h2o_count_bits(~x & (x - 1)); }

// how keys are compared with queries
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

// channels by which keys are compared: h2o-query-channels.h
static inline int64_t h2o_count_channels(int64_t d, h2o_scoring scoring) {
#ifdef H2O_HAS_INT8_SEARCH
    if (scoring == H2O_SCORING_INT8 && d >= 64) {
        // without VNNI products take most of the search
        const int64_t n_least = H2O_INT8_KEY == 127 ? 48 : 32;

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

// places [begin, begin + n) of the order of a head's queries
struct h2o_query_block {
    int64_t ih;
    int64_t begin;
    int64_t n;
};

struct h2o_query_op {
    explicit h2o_query_op(const ggml_tensor * dst) :
        p(*ggml_h2o_get_query_params(dst)),
        sets(dst), q(dst->src[0]), lse(dst->src[1]), k(dst->src[2]), pages(dst->src[3]), order(dst->src[4]),
        d(q->ne[0]), n_head(q->ne[1]), n_group(n_head/k->ne[2]), n_queries(q->ne[2]), n_blocks(dst->ne[2]),
        n_set(dst->ne[0]),
        scoring(h2o_choose_scoring(d)),
        tiles(h2o_searches_in_tiles(d, scoring)),
        n_channels(h2o_count_channels(d, scoring)) {}

    const ggml_h2o_query_params & p;

    const ggml_tensor * sets;
    const ggml_tensor * q;
    const ggml_tensor * lse;
    const ggml_tensor * k;
    const ggml_tensor * pages;
    const ggml_tensor * order;

    const int64_t d;
    const int64_t n_head;  // each with a set of its own
    const int64_t n_group; // of them read the keys of one KV head
    const int64_t n_queries;
    const int64_t n_blocks;
    const int64_t n_set;

    const h2o_scoring scoring;
    const bool        tiles;
    const int64_t     n_channels; // of d, that a key is compared by

    // candidates of the first page; and pages, the last one perhaps not whole
    int64_t n_first()     const { return std::min<int64_t>(GGML_H2O_PAGE, p.n_cand); }
    int64_t n_all_pages() const { return (p.n_cand + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE; }

    // Keys of a page that are there
    int64_t n_keys_of(int64_t page) const { return std::min<int64_t>(GGML_H2O_PAGE, p.n_cand - page*GGML_H2O_PAGE); }

    // what sums are made of (h2o-query-sums.h): rows of products
    int64_t n_sum_rows() const { return GGML_PAD(GGML_H2O_PAGE + p.n_pages, tiles ? 32 : 1); }

    // bytes that all threads share, of one KV head at a time
    size_t size_rows()       const { return n_all_pages()*GGML_H2O_PAGE*n_channels*(scoring == H2O_SCORING_F32 ? sizeof(float) : 1); }
    size_t size_bits()       const { return GGML_PAD(n_all_pages()*sizeof(uint64_t), align); } // one for each key
    size_t size_of_pages()   const { return GGML_PAD(n_all_pages()*(sizeof(float) + sizeof(int32_t)), align); }
    size_t size_sum_rows()   const { return (tiles ? n_sum_rows() : GGML_H2O_PAGE)*d*sizeof(float); }
    size_t size_shared()     const { return GGML_PAD(size_rows() + size_bits() + size_of_pages() + size_sum_rows(), align); }

    // floats per thread
    int64_t size_queries()    const { return d*H2O_PANEL; }
    int64_t size_scaled()     const { return GGML_H2O_BLOCK*d; }
    int64_t size_part()       const { return GGML_H2O_PAGE*n_channels + 16; } // whole vectors are stored
    int64_t size_sum_logits() const { return n_sum_rows()*H2O_PANEL; }
    int64_t size_logits()     const { return GGML_H2O_PAGE*H2O_PANEL; }

    int64_t n_ranked() const { return std::max<int64_t>(n_all_pages()*GGML_H2O_PAGE, d); }

    size_t size_thread() const {
        const size_t n =
            size_bits() +
            (size_queries() + size_scaled() + size_part() + size_sum_logits() + size_logits())*sizeof(float) +
            n_ranked()*(sizeof(float) + 3*sizeof(int32_t)) + n_channels*sizeof(int32_t) + d/16*sizeof(uint16_t);

        return GGML_PAD(n, align);
    }

    static constexpr size_t align = 64; // of the memory of a thread

    int64_t kv_head(int64_t ih) const { return ih/n_group; }

    h2o_query_block block(int64_t ih, int64_t ib) const {
        const int64_t begin = ib*GGML_H2O_BLOCK;

        return { ih, begin, std::min<int64_t>(GGML_H2O_BLOCK, n_queries - begin) };
    }

    int32_t * set_at(int64_t ih, int64_t ib) const { return h2o_block_set(sets, ih, ib); }

    const float * pages_of(int64_t ih_kv) const {
        return (const float *) ((const char *) pages->data + ih_kv*pages->nb[2]);
    }

    // the query at a place
    int64_t query_at(int64_t place, int64_t ih) const { return h2o_block_query(order, ih, place); }

    float lse_at(int64_t query, int64_t ih) const {
        return ((const float *) lse->data)[query*n_head + ih];
    }

    const float * q_at(int64_t query, int64_t ih) const {
        return (const float *) q->data + (query*n_head + ih)*d;
    }
};

// of one KV head: what all searches of its keys share
struct h2o_query_keys {
    h2o_query_keys(const h2o_query_op & op, const ggml_compute_params * params) {
        rows       = (char *) GGML_PAD((uintptr_t) params->wdata, h2o_query_op::align);
        valid      = (uint64_t *) (rows + op.size_rows());
        scales     = (float *) ((char *) valid + op.size_bits());
        mean_pages = (int32_t *) (scales + op.n_all_pages());
        sum_rows   = (float *) ((char *) scales + op.size_of_pages());
    }

    char     * rows;       // [n_all_pages][GGML_H2O_PAGE][n_channels], as h2o_scoring has them
    // of H2O_SCORING_INT8
    uint64_t * valid;      // [n_all_pages] a bit for each key that is there and a number
    float    * scales;     // [n_all_pages]
    int32_t  * mean_pages; // [n_all_pages] h2o_page_of_mean

    float * sum_rows; // where op.tiles [n_sum_rows][d] as h2o_keep_sum_row leaves them, else the keys of the first page
};

struct h2o_query_work {
    h2o_query_work(const h2o_query_op & op, const ggml_compute_params * params) {
        char * base = (char *) GGML_PAD((uintptr_t) params->wdata, h2o_query_op::align) +
            op.size_shared() + params->ith*op.size_thread();

        wanted   = (uint64_t *) base;
        queries  = (float *) (base + op.size_bits());
        scaled   = queries + op.size_queries();
        part     = scaled  + op.size_scaled();
        sums     = part    + op.size_part();
        logits   = sums    + op.size_sum_logits();
        scores   = logits  + op.size_logits();
        at       = (int32_t *) (scores + op.n_ranked());
        keys     = at   + op.n_ranked();
        best     = keys + op.n_ranked();
        channels = best + op.n_ranked();
        masks    = (uint16_t *) (channels + op.n_channels);
    }

    uint64_t * wanted;   // [n_all_pages] a bit for each key
    float    * queries;  // as columns
    float    * scaled;   // [GGML_H2O_BLOCK][d] queries
    float    * part;     // [GGML_H2O_PAGE][n_channels] of keys or queries
    float    * sums;     // [n_sum_rows][H2O_PANEL] logits of what sums are made of
    float    * logits;   // [GGML_H2O_PAGE][H2O_PANEL]
    float    * scores;   // of what is ranked
    int32_t  * at;       // its positions
    int32_t  * keys;
    int32_t  * best;     // of it, by index
    int32_t  * channels; // [n_channels] of the KV head, ascending
    uint16_t * masks;    // [d/16] the same, bits of sixteen channels each
};

// logits of the mean key of a page, in w.sums
static inline const float * h2o_logits_of_mean(const h2o_query_work & w, int64_t page) {
    return w.sums + (GGML_H2O_PAGE + page)*H2O_PANEL;
}
