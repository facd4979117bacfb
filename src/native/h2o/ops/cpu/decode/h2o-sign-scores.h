// What keys score by the index of signs, for one query and head (README.md, "Sparse decoding").

#pragma once

#include "h2o-signs.h"

// A query as the index wants it: for every four channels the sums of their 16 patterns of signs, in 127 steps.
struct h2o_sign_query {
    // floats of working memory
    static int64_t work_size(int64_t d) { return 2*d + (d + 3)/4*16/sizeof(float); }

    // q [d], times the scale of the logits
    h2o_sign_query(const float * q, int64_t d, float scale, float * work);

    // scores [GGML_H2O_PAGE] of a page's keys; NaN is -inf
    void score(h2o_signs_page page, float * scores) const;

private:
    const int64_t d;
    const int64_t n_fours;

    float   * q;      // [d] scaled
    float   * mean;   // [d] a page's
    uint8_t * tables; // [n_fours][16]

    float step; // of the tables
    float base; // what n_fours zeros mean
};
