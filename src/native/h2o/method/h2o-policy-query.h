// The policy `query`: every block of a head's queries chooses its own set from all positions before Local (README.md,
// "query").
// Nothing is handed from chunk to chunk: the index is a function of K and V alone, so a set cannot depend on where a call
// begins, on what was read before it, or on a restored state.

#pragma once

#include "h2o-policy.h"

class h2o_policy_query : public h2o_policy {
public:
    h2o_policy_query(const h2o_policy_traits & traits, const h2o_params &, uint32_t) : h2o_policy(traits) {}

    int32_t n_nodes_per_chunk() const override { return 128; }

    std::vector<h2o_tensor_spec> tensors(const h2o_layer_shape &)       const override { return {}; }
    std::vector<h2o_tensor_spec> index  (const h2o_layer_shape & shape) const override;

    bool runs_index_on(ggml_backend_dev_t dev, const h2o_layer_shape & shape) const override;

    std::unique_ptr<h2o_policy_layer> begin_layer(
            const h2o_layer & l, const h2o_plan & plan, const h2o_kept & kept) const override;

    // the index knows all that came before the chunk
    h2o_carry carry_after(const h2o_plan & plan, int32_t ic) const override;
    h2o_carry full_carry (const h2o_plan &)                  const override { return {}; }

    void truncate(h2o_carry & carry, llama_pos pos) const override;

    // the first call that needs the index makes it
    bool remembers(const h2o_carry &) const override { return true; }

    // nothing is saved
    bool is_valid(const h2o_carry &, llama_pos) const override { return true; }
    bool is_valid(const h2o_carry &, llama_pos, size_t, const ggml_tensor *, const uint8_t *) const override {
        return true;
    }
};
