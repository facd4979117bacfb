#include "h2o.h"

h2o_budget h2o_budget_clamp(h2o_budget budget, uint32_t n_chunk) {
    // 64 bits: L and H come from the user
    if (n_chunk == 0 || (uint64_t) budget.n_local + budget.n_heavy < n_chunk) {
        return budget;
    }
    if (budget.n_local < n_chunk) {
        return { budget.n_local, n_chunk - 1 - budget.n_local };
    }
    return { n_chunk - 1, 0 };
}
