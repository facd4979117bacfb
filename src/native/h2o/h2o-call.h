// One llama_decode call: may it be sparse, and how its batch is cut into the ubatches of its graphs.

#pragma once

#include "h2o-plan.h"

#include "llama-kv-cache.h"

#include <vector>

// tokens of a call that can be sparse decoding. Those of longer calls share the reading of a key, which pays as much
static constexpr uint32_t H2O_DECODE_MAX_TOKENS = 8;

// sparse decoding begins where candidates are more than so many times those that a head chooses: it reads keys that lie apart,
// and in large groups those of several heads, which takes as long as more of them side by side (docs/cpu-kernel.md)
static constexpr int64_t H2O_DECODE_MIN_CHOICE = 8;

struct llama_cparams;
struct llama_ubatch;

class llama_batch_allocr;
class llama_kv_cells;

// why the batch cannot take the sparse path, or H2O_REASON_NONE. cells: of the cache of the layers that H2O serves
h2o_reason h2o_refuse_batch(
        const llama_batch    & batch,
        uint32_t               n_tokens,
        bool                   embd_all,
        const llama_cparams  & cparams,
        const llama_kv_cells & cells);

// why attention of a dense call cannot be sparse decoding of n_heavy keys a head, or H2O_REASON_NONE
h2o_reason h2o_refuse_decode(
        const llama_batch    & batch,
        uint32_t               n_tokens,
        bool                   embd_all,
        uint32_t               n_heavy,
        const llama_cparams  & cparams,
        const llama_kv_cells & cells);

// one ubatch per plan; those of phase 2 repeat the tokens of phase 1
// is_equal: as recurrent layers want them, one sequence of many tokens
std::vector<llama_ubatch> h2o_split_batch(
        llama_batch_allocr & balloc, const std::vector<h2o_plan> & plans, bool is_equal = false);

// whether the tokens of these graphs get the cells of their positions; graphs of phase 2 have no slot
bool h2o_is_in_place(const llama_kv_cache::slot_info_vec_t & sinfos, const std::vector<h2o_plan> & plans);
