// What llama_cparams, which every graph is built with, knows of H2O.

#pragma once

#include "h2o.h"

struct h2o_record;

// the parameters as h2o_resolve_params made them
struct h2o_cparams : h2o_params {
    uint32_t n_group = 1; // query heads to a KV head, in the layer with most

    const h2o_record * record = nullptr; // of the context, once it has one
};
