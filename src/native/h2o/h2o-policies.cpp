#include "h2o-policies.h"

#include "h2o-policy-query.h"
#include "h2o-policy-votes.h"

#include <stdexcept>

std::unique_ptr<h2o_policy> h2o_make_policy(const h2o_params & params, uint32_t n_chunk) {
    switch (params.policy) {
        case H2O_POLICY_AUTO:  break; // not in a context
        case H2O_POLICY_VOTES: return std::make_unique<h2o_policy_votes>(params, n_chunk);
        case H2O_POLICY_QUERY: return std::make_unique<h2o_policy_query>();
    }
    throw std::runtime_error("unknown H2O policy");
}
