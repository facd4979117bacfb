// The families of memories that carry H2O: which adapter a context gets, and how to find its H2O side.

#pragma once

struct llama_cparams;
struct llama_memory_i;
struct llama_memory_params;
struct llama_model;

class h2o_cache;

// the memory of a context that h2o_coverage serves
llama_memory_i * h2o_make_memory(
        const llama_model & model, const llama_memory_params & params, const llama_cparams & cparams);

// null if the memory carries no H2O, or is null
h2o_cache * h2o_cache_of(llama_memory_i * memory);
