// The families of memories that carry H2O: which class a context gets in place of upstream's, and how to find its H2O
// side.

#pragma once

#include "h2o-cache-hybrid.h"
#include "h2o-cache-iswa.h"
#include "h2o-cache-kv.h"
#include "h2o-coverage.h"

template <class Memory> struct h2o_family;

template <> struct h2o_family<llama_kv_cache>      { typedef llama_kv_cache_h2o      type; };
template <> struct h2o_family<llama_kv_cache_iswa> { typedef llama_kv_cache_iswa_h2o type; };
template <> struct h2o_family<llama_memory_hybrid> { typedef llama_memory_hybrid_h2o type; };

// llama_model::create_memory, in place of `new Memory(model, args)`: the same, or one that carries H2O
template <class Memory, class... Args>
llama_memory_i * h2o_create_memory(const llama_cparams & cparams, const llama_model & model, Args &&... args) {
    if (h2o_coverage(model, cparams) != H2O_REASON_NONE) {
        return new Memory(model, std::forward<Args>(args)...);
    }
    return new typename h2o_family<Memory>::type(cparams, model, std::forward<Args>(args)...);
}

// null if the memory carries no H2O, or is null
h2o_cache * h2o_cache_of(llama_memory_i * memory);
