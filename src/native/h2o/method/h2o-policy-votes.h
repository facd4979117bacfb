// The policy `votes`: heavy hitters are the positions that got the most attention, from their own chunk and then from
// every chunk that had them in its memory (README.md, rules 2, 3 and 5). Candidates are the last memory set and the
// last chunk.

#pragma once

#include "h2o-policy.h"

class h2o_policy_votes : public h2o_policy {
public:
    h2o_policy_votes(const h2o_policy_traits & traits, const h2o_params & params, uint32_t n_chunk);

    int32_t n_nodes_per_chunk() const override { return 16; }

    std::vector<h2o_tensor_spec> tensors(const h2o_layer_shape & shape) const override;

    std::vector<h2o_tensor_spec> index  (const h2o_layer_shape &) const override { return {}; }

    bool runs_index_on(ggml_backend_dev_t, const h2o_layer_shape &) const override { return true; }

    std::unique_ptr<h2o_policy_layer> begin_layer(
            const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) const override;

    h2o_carry carry_after(const h2o_plan & plan, int32_t ic) const override;
    h2o_carry full_carry (const h2o_plan & call)             const override;

    bool remembers(const h2o_carry & carry) const override { return !carry.empty(); }

    // members past it go, the last chunk is cut, votes already cast stay
    void truncate(h2o_carry & carry, llama_pos pos) const override;

    bool is_valid(const h2o_carry & carry, llama_pos end) const override;
    bool is_valid(
            const h2o_carry   & carry,
            llama_pos           end,
            size_t              i_tensor,
            const ggml_tensor * t,
            const uint8_t     * data) const override;

private:
    const int32_t n_mem; // L + H
    const int32_t n_chunk;
};
