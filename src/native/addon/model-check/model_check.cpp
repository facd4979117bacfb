#include "model_rules.h"

namespace addon {

static const model_rule rules[] = {
    check_ranges,
    check_per_layer,
    check_experts,
    check_alignment,
    check_weight_types,
    check_heads,
    check_head_sizes,
    check_rope,
    check_vocab_size,
    check_token_types,
    check_rwkv_vocab,
    check_charsmap,
};

std::optional<model_finding> model_check(const gguf_head & head) {
    const model_facts facts(head);

    for (const model_rule rule : rules) {
        if (auto found = rule(facts)) {
            return found;
        }
    }
    return std::nullopt;
}

std::optional<model_finding> model_check_failed(const gguf_head & head) {
    return check_duplicates(model_facts(head));
}

} // namespace addon
