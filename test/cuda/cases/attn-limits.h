// How far the attention kernels may be from plain loops in double precision, as NMSE of each of their results; five to
// ten times the worst of several hundred cases. Selection and lookup have to be exact.

#pragma once

struct attn_limit {
    const char * name;

    bool   is_mma;
    bool   is_large; // logits to a hundred and more, where weights follow the rounding of q and k most
    double nmse;
};

static const attn_limit LIMITS[] = {
    // path, logits       mma    large  NMSE
    { "plain",            false, false, 1e-11 },
    { "plain large",      false, true,  1e-10 },
    { "mma",              true,  false, 3e-6  },
    { "mma large",        true,  true,  5e-5  },
};
