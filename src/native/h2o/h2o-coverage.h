// Which contexts H2O serves. Decided once, when the context is made; deny by default (section 2, "Coverage").

#pragma once

#include "h2o.h"

struct llama_cparams;
struct llama_memory_params;
struct llama_model;

class llm_graph_result;

// what model and parameters say, before anything is allocated
h2o_reason h2o_coverage(const llama_model & model, const llama_cparams & cparams);

// whether every layer's device runs the fused attention of GGML_OP_H2O over caches of these types; false too with H2O_FUSED=0
bool h2o_has_fused_attn(const llama_model & model, const llama_cparams & cparams, ggml_type type_k, ggml_type type_v);

// what a probing build of the sparse graph says: every attention node went through h2o_build_attn, and nothing built a mask
h2o_reason h2o_coverage_of_graph(const llama_model & model, const llm_graph_result & res);
