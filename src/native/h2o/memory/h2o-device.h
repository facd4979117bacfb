// What the devices of a model can do for H2O, and where its layers are.

#pragma once

#include "ggml-backend.h"

#include <cstdint>

struct llama_cparams;
struct llama_model;

class llama_kv_cache;

// false: a device that says yes to every op without asking the other side
bool h2o_has_honest_devices(const llama_model & model);

// whether the devices of this cache's layers run the fused attention of GGML_OP_H2O over it; false too with
// H2O_FUSED=0, and for attention that the op does not know: capped logits, votes beside sinks
bool h2o_has_fused_attn(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn);

// null is the CPU
bool h2o_is_cpu(ggml_backend_dev_t dev);

// whether K and V of a layer are on the CPU, where the kernel runs
bool h2o_is_exact_layer(const llama_model & model, const llama_cparams & cparams, uint32_t il);

// whether some layer is on a GPU, with K and V
bool h2o_has_gpu_layer(const llama_model & model, const llama_cparams & cparams);

// whether it runs in some layer of this cache
bool h2o_has_exact(const llama_model & model, const llama_cparams & cparams, const llama_kv_cache & attn);

// whether all layers with attention see all positions, and no layer is recurrent
bool h2o_is_plain(const llama_model & model);

// chunks that one graph holds at most
int32_t h2o_n_graph_chunks(const llama_model & model, const llama_cparams & cparams);
