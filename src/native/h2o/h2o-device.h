// What the devices of a model can do for H2O.

#pragma once

#include "ggml-backend.h"

#include <cstdint>

struct llama_cparams;
struct llama_model;

class llama_kv_cache;

// false: a device that says yes to every op without asking the other side
bool h2o_has_honest_devices(const llama_model & model);

// whether it runs the ops of the policy `query`, index and search; null is the CPU
bool h2o_device_runs_query(ggml_backend_dev_t dev, int64_t d_k, ggml_type type_k);

// whether the devices of this cache's layers run the fused attention of GGML_OP_H2O over it; false too with
// H2O_FUSED=0, and for attention that the op does not know: capped logits, votes beside sinks
bool h2o_has_fused_attn(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn);

// chunks that one graph holds at most
int32_t h2o_n_graph_chunks(const llama_model & model, const llama_cparams & cparams);
