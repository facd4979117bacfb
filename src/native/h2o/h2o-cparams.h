// What llama_cparams, which every graph is built with, knows of H2O.

#pragma once

#include "h2o.h"

struct h2o_record;

// the parameters as h2o_resolve_params made them
struct h2o_cparams : h2o_params {
    const h2o_record * record = nullptr; // of the context, once it has one
};
