#include "h2o-families.h"

#include "h2o-cache-kv.h"

#include "llama-model.h"

llama_memory_i * h2o_make_memory(
        const llama_model & model, const llama_memory_params & params, const llama_cparams & cparams) {
    return new llama_kv_cache_h2o(model, model.hparams, cparams, params.type_k, params.type_v);
}

h2o_cache * h2o_cache_of(llama_memory_i * memory) {
    return dynamic_cast<h2o_cache *>(memory);
}
