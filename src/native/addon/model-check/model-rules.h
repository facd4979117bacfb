// The rules: each looks at one part of the metadata and gives the first thing that is wrong with it.

#pragma once

#include "model-facts.h"

namespace addon {

using model_rule = std::optional<model_finding> (*)(const model_facts & facts);

// numbers
std::optional<model_finding> check_ranges   (const model_facts & facts);
std::optional<model_finding> check_per_layer(const model_facts & facts);
std::optional<model_finding> check_experts  (const model_facts & facts);
std::optional<model_finding> check_alignment(const model_facts & facts);
std::optional<model_finding> check_recurrent(const model_facts & facts);

// tensors
std::optional<model_finding> check_weight_types(const model_facts & facts);
std::optional<model_finding> check_extents     (const model_facts & facts);
std::optional<model_finding> check_trunk       (const model_facts & facts);
std::optional<model_finding> check_companions  (const model_facts & facts);

// attention
std::optional<model_finding> check_heads        (const model_facts & facts);
std::optional<model_finding> check_head_sizes   (const model_facts & facts);
std::optional<model_finding> check_rope         (const model_facts & facts);
std::optional<model_finding> check_rope_sections(const model_facts & facts);

// vocabulary
std::optional<model_finding> check_vocab_size (const model_facts & facts);
std::optional<model_finding> check_token_types(const model_facts & facts);
std::optional<model_finding> check_charsmap   (const model_facts & facts);

// an adapter
std::optional<model_finding> check_adapter_keys   (const model_facts & facts);
std::optional<model_finding> check_adapter_tensors(const model_facts & facts);

// what no multiplication takes: ggml_type
bool is_no_weight(int32_t type);

// with the tokens themselves
bool                         has_rwkv_vocab  (const model_facts & facts);
std::optional<model_finding> check_rwkv_vocab(const model_facts & facts);
std::optional<model_finding> check_duplicates(const model_facts & facts);

} // namespace addon
