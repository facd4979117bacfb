#include "h2o-families.h"

h2o_cache * h2o_cache_of(llama_memory_i * memory) {
    return dynamic_cast<h2o_cache *>(memory);
}
