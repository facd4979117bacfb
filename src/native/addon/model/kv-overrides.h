// Metadata that the caller gives in place of the file's, as llama.cpp's --override-kv.

#pragma once

#include "model-check/model-check.h"

#include "llama.h"

#include <napi.h>

#include <string>
#include <vector>

namespace addon {

class kv_overrides {
public:
    // [{ key, type, value }], checked in TypeScript: key and text have fewer than 128 bytes, an int has 32 bits
    static kv_overrides from_js(const Napi::Value & list);

    // The head as llama.cpp will read it. Throws ERR_H2O_INVALID_ARGUMENT where the file has another type under the
    // key: llama.cpp would go on without the override
    gguf_head apply(const gguf_head & head) const;

    // The file is healthy but for what is overridden, and healthy as overridden. What llama.cpp reads in spite of an
    // override is checked, too
    std::optional<model_finding> check(const std::string & path, const gguf_head & head) const;

    uint64_t fingerprint(uint64_t hash) const;

    // ends with an empty key; null if there is none
    const llama_model_kv_override * data() const { return list.empty() ? nullptr : list.data(); }

private:
    bool has(const std::string & key) const;

    std::vector<llama_model_kv_override> list;
};

} // namespace addon
