// Which contexts H2O serves, as far as model and parameters say: decided once, when the context is made, before
// anything is allocated; deny by default (README.md, "Coverage"). The rest is for the graph to show: h2o-probe.h.

#pragma once

#include "h2o.h"

struct llama_cparams;
struct llama_model;

// why no call can be sparse, or H2O_REASON_NONE
h2o_reason h2o_coverage(const llama_model & model, const llama_cparams & cparams);
