#include "model-rules.h"

#include <array>

namespace addon {

static const model_rule rules[] = {
    check_ranges,
    check_per_layer,
    check_experts,
    check_recurrent,
    check_trunk,
    check_companions,
    check_heads,
    check_head_sizes,
    check_rope,
    check_rope_sections,
    check_vocab_size,
    check_token_types,
    check_charsmap,
};

static std::optional<model_finding> check_tokens(const std::string & path, model_rule rule) {
    const auto head = gguf_head_read(path, true);
    return head ? rule(model_facts(*head)) : std::nullopt;
}

template <typename R>
static std::optional<model_finding> first_of(const R & rules, const model_facts & facts) {
    for (const model_rule rule : rules) {
        if (auto found = rule(facts)) {
            return found;
        }
    }
    return std::nullopt;
}

std::optional<model_finding> file_check(const gguf_head & head) {
    return first_of(std::array{ check_alignment, check_weight_types }, model_facts(head));
}

std::optional<model_finding> model_check(const std::string & path, const gguf_head & head) {
    const model_facts facts(head);

    if (auto found = first_of(rules, facts)) {
        return found;
    }
    return has_rwkv_vocab(facts) ? check_tokens(path, check_rwkv_vocab) : std::nullopt;
}

std::optional<model_finding> adapter_check(const gguf_head & head) {
    return first_of(std::array{ check_alignment, check_adapter_keys, check_adapter_tensors }, model_facts(head));
}

std::optional<model_finding> model_check_failed(const std::string & path) {
    return check_tokens(path, check_duplicates);
}

} // namespace addon
