// One llama_decode call: which of its sequences may be sparse, and how its batch is cut into the ubatches of its graphs.

#pragma once

#include "h2o-plan.h"

#include "llama-kv-cache.h"

#include <optional>
#include <vector>

// sparse decoding begins where candidates are more than so many times those that a head chooses: it reads keys that lie apart,
// and in large groups those of several heads, which takes as long as more of them side by side (docs/cpu-kernel.md)
static constexpr int64_t H2O_DECODE_MIN_CHOICE = 8;

struct llama_cparams;
struct llama_ubatch;

class llama_batch_allocr;
class llama_kv_cells;

// the tokens of one sequence in a call
struct h2o_run {
    llama_seq_id seq_id;
    llama_pos    pos; // of the first
    uint32_t     n_tokens;
    h2o_reason   reason; // why they are dense, or H2O_REASON_NONE
};

// one graph of a sparse call
struct h2o_step {
    uint32_t                n_tokens;
    std::optional<h2o_plan> plan; // null for tokens of a sequence that is dense in this call
    bool                    is_exact; // these take H2O's exact kernel

    bool stores_kv() const { return !plan || plan->stores_kv(); }
};

// The runs of a batch, in the order of their first tokens, with what speaks against each but for the cache. A batch with tokens
// of several sequences at once is one run, of the first of them.
std::vector<h2o_run> h2o_find_runs(
        const llama_batch & batch, uint32_t n_tokens, bool embd_all, const llama_cparams & cparams);

// why a run of one chunk or less is dense, or a last chunk is too short, or H2O_REASON_NONE
// is_expected: it belongs to a longer prompt
h2o_reason h2o_refuse_length(const h2o_run & run, bool is_expected, const llama_cparams & cparams);

// why these cells are not those of the run's positions, or H2O_REASON_NONE
// cells: of the run's stream, in the cache of the layers that H2O serves
h2o_reason h2o_refuse_cells(const h2o_run & run, const llama_kv_cells & cells);

// keys that sparse decoding chooses from, behind so many positions
int64_t h2o_decode_candidates(int64_t n_pos);

// why attention of a dense call cannot be sparse decoding of n_heavy keys a head, or H2O_REASON_NONE
h2o_reason h2o_refuse_decode(const std::vector<h2o_run> & runs, uint32_t n_heavy, const llama_kv_cells & cells);

// one ubatch per step, each of one sequence; those of phase 2 repeat the tokens of phase 1
std::vector<llama_ubatch> h2o_split_batch(llama_batch_allocr & balloc, const std::vector<h2o_step> & steps);

// whether the tokens of the sparse steps get the cells of their positions; graphs of phase 2 have no slot
bool h2o_is_in_place(const llama_kv_cache::slot_info_vec_t & sinfos, const std::vector<h2o_step> & steps);
