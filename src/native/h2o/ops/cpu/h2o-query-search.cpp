#include "h2o-query-search.h"

#include "h2o-query-means.h"
#include "h2o-query-score.h"

#include <cmath>
#include <numeric>

// The pages that some query of the block likes nearly as well as the page that it likes best, by their mean keys, into
// w.pages. Always the first one: an attention sink is one key unlike the others, and means do not show it.
static int64_t h2o_pick_pages(const h2o_query_op & op, const h2o_query_work & w, const h2o_query_block & b) {
    float shift[H2O_PANEL];

    std::fill(shift, shift + H2O_PANEL, -INFINITY);
    h2o_columns_max(w.means, op.p.n_pages, H2O_PANEL, shift);
    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = i < b.n ? -shift[i] : -INFINITY;
    }

    h2o_rows_max_shifted(w.means, op.p.n_pages, shift, w.scores);
    w.scores[0] = INFINITY; // the sink

    h2o_order_keys(w.scores, op.p.n_pages, w.keys);
    return h2o_take_best(w.keys, op.p.n_pages, op.p.n_picked, w.pages);
}

// the pages that are to be searched key by key, ascending, and what is left behind the last whole one
static void h2o_find_searched(
        const h2o_query_op & op, const h2o_query_keys & keys, const h2o_query_work & w, const h2o_query_block & b) {
    const bool searches_all = op.p.n_picked == op.p.n_pages;
    int64_t    n_picked     = op.p.n_pages;

    if (!searches_all || op.scoring == H2O_SCORING_INT8) {
        h2o_multiply_means(op, keys, w, op.kv_head(b.ih));
    }
    if (!searches_all) {
        n_picked = h2o_pick_pages(op, w, b);
    } else {
        std::iota(w.pages, w.pages + n_picked, 0);
    }
    if (op.n_searched_pages() > n_picked) {
        w.pages[n_picked] = op.p.n_pages;
    }
}

// Scores of the keys of those pages that have a wanted one, into w.scores, and these pages into w.pages. A key is wanted if
// its score is `least` or more. Returns how many keys these are.
static int64_t h2o_rank_wanted_pages(const h2o_query_op & op, const h2o_query_work & w, const float * shift, float & least) {
    const int64_t n_pages = op.n_searched_pages();

    h2o_rows_max_shifted(w.most, n_pages, shift, w.scores); // of the best key of each page
    least = std::min(op.p.least, *std::max_element(w.scores, w.scores + n_pages));

    int64_t n_wanted = 0;
    for (int64_t i = 0; i < n_pages; ++i) {
        if (w.scores[i] >= least) {
            w.best[n_wanted++] = i;
        }
    }

    int64_t n = 0;
    for (int64_t i = 0; i < n_wanted; ++i) {
        const int64_t first  = w.best[i]*GGML_H2O_PAGE;
        const int64_t n_keys = std::min<int64_t>(GGML_H2O_PAGE, op.n_searched - first);

        h2o_rows_max_shifted(w.logits + first*H2O_PANEL, n_keys, shift, w.scores + n);
        w.pages[i] = w.pages[w.best[i]];
        n += n_keys;
    }
    return n;
}

// the wanted of n keys, n_most of them at most, into w.best
static int64_t h2o_take_wanted(const h2o_query_work & w, int64_t n, float least, int64_t n_most) {
    int32_t key;
    h2o_order_keys(&least, 1, &key);

    const int64_t n_wanted = h2o_count_from(w.keys, n, key);

    return n_wanted <= n_most ?
        h2o_take_from(w.keys, n, key, n_wanted, w.best) :
        h2o_take_best(w.keys, n, n_most, w.best);
}

int64_t h2o_choose_by_all(
        const h2o_query_op    & op,
        const h2o_query_keys  & keys,
        const h2o_query_work  & w,
        const h2o_query_block & b,
        const int32_t         * taken,
        int64_t                 n_taken) {
    float near [H2O_PANEL]; // log-sum-exp of the surroundings
    float shift[H2O_PANEL];

    std::fill(near, near + H2O_PANEL, INFINITY); // no query
    std::fill(w.scaled + b.n*op.d, w.scaled + H2O_PANEL*op.d, 0.0f);
    for (int64_t i = 0; i < b.n; ++i) {
        op.read_query(b.begin + i, b.ih, w.scaled + i*op.d);
        near[i] = op.lse_at(b.begin + i, b.ih);
    }
    h2o_find_searched(op, keys, w, b);

    // log-sum-exp of the surroundings and of the best key of each page
    h2o_column_sums sums;
    std::copy(near, near + H2O_PANEL, sums.max);
    std::fill(sums.sum, sums.sum + H2O_PANEL, 1.0f);
    h2o_score_searched(op, keys, w, sums);

    for (int64_t i = 0; i < H2O_PANEL; ++i) {
        shift[i] = i < b.n ? -(sums.max[i] + logf(sums.sum[i])) : -INFINITY;
    }

    float least;

    const int64_t n_keys  = h2o_rank_wanted_pages(op, w, shift, least);
    const int64_t n_pages = (n_keys + GGML_H2O_PAGE - 1)/GGML_H2O_PAGE;

    h2o_order_keys(w.scores, n_keys, w.keys);
    for (int64_t i = 0; i < n_taken; ++i) {
        const int64_t page = std::lower_bound(w.pages, w.pages + n_pages, taken[i]/GGML_H2O_PAGE) - w.pages;

        if (page < n_pages && w.pages[page] == taken[i]/GGML_H2O_PAGE) {
            w.keys[page*GGML_H2O_PAGE + taken[i]%GGML_H2O_PAGE] = H2O_KEY_NEVER;
        }
    }

    const int64_t n = h2o_take_wanted(w, n_keys, least, op.n_set - n_taken);
    for (int64_t i = 0; i < n; ++i) {
        w.best[i] = w.pages[w.best[i]/GGML_H2O_PAGE]*GGML_H2O_PAGE + w.best[i]%GGML_H2O_PAGE;
    }
    return n;
}
