#include "h2o-policies.h"

#include "h2o-policy-query.h"
#include "h2o-policy-votes.h"

#include <iterator>

namespace {

struct policy_row {
    h2o_policy_traits traits;

    std::unique_ptr<h2o_policy> (*make)(const h2o_policy_traits & traits, const h2o_params & params, uint32_t n_chunk);
};

template <class Policy>
std::unique_ptr<h2o_policy> make(const h2o_policy_traits & traits, const h2o_params & params, uint32_t n_chunk) {
    return std::make_unique<Policy>(traits, params, n_chunk);
}

const policy_row rows[] = {
    { {
        /* .type           = */ H2O_POLICY_QUERY,
        /* .name           = */ "query",
        /* .about          = */ "the chunk's own queries; single-pass only",
        /* .n_local        = */ 128,
        /* .local_part     = */ 4,
        /* .n_heavy        = */ 640,
        /* .heavy_grows    = */ true,
        /* .n_dense_tail   = */ 64,
        /* .fits_chunk     = */ false,
        /* .runs_two_pass  = */ false, // phase 1 has no Local: the chunk's queries would ask without it
        /* .has_memory     = */ false,
        /* .casts_votes    = */ false,
        /* .has_own_sets   = */ true,
        /* .has_local_near = */ true,
    }, make<h2o_policy_query> },
    { {
        /* .type           = */ H2O_POLICY_VOTES,
        /* .name           = */ "votes",
        /* .about          = */ "the attention that they got so far",
        /* .n_local        = */ 256,
        /* .local_part     = */ 2,
        /* .n_heavy        = */ 256,
        /* .heavy_grows    = */ false,
        /* .n_dense_tail   = */ 0,
        /* .fits_chunk     = */ true,
        /* .runs_two_pass  = */ true,
        /* .has_memory     = */ true,
        /* .casts_votes    = */ true,
        /* .has_own_sets   = */ false,
        /* .has_local_near = */ false,
    }, make<h2o_policy_votes> },
};

// null: there is none
const policy_row * row_of(h2o_policy_type policy) {
    for (const policy_row & row : rows) {
        if (row.traits.type == policy) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace

const h2o_policy_traits * h2o_get_policy(int32_t i) {
    return i >= 0 && i < (int32_t) std::size(rows) ? &rows[i].traits : nullptr;
}

const h2o_policy_traits * h2o_get_policy_traits(h2o_policy_type policy) {
    const policy_row * row = row_of(policy);

    return row ? &row->traits : nullptr;
}

std::unique_ptr<h2o_policy> h2o_make_policy(const h2o_params & params, uint32_t n_chunk) {
    const policy_row * row = row_of(params.policy);
    GGML_ASSERT(row); // h2o_init_cparams lets no other through

    return row->make(row->traits, params, n_chunk);
}
