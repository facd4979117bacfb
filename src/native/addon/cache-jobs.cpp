#include "cache-jobs.h"

#include <cstring>

namespace addon {

//
// forget
//

forget_job::forget_job(Napi::Env env, std::shared_ptr<context_state> state, int32_t from, int32_t to) :
    job(env), state(std::move(state)), from(from), to(to) {}

void forget_job::run() {
    if (from <= 0 && to < 0) {
        llama_memory_clear(state->memory, false);
    } else if (!llama_memory_seq_rm(state->memory, 0, from, to)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "this model's memory cannot forget a part of what it read",
            {{"from", (double) from}, {"to", (double) to}, {"position", (double) state->position()}});
    }
    position = state->position();
}

Napi::Value forget_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

//
// save and restore
//

struct state_header {
    char     magic[8];
    uint32_t version;
    int32_t  position;
    uint64_t model;    // a hash of what names the model
    uint64_t size;     // bytes that follow
    uint64_t checksum; // of them
};

static constexpr char     state_magic[8] = { 'H', '2', 'O', 'S', 'T', 'A', 'T', 'E' };
static constexpr uint32_t state_version  = 1;

// FNV-1a over 8-byte words: it detects damage, it does not resist an attacker
static uint64_t checksum(const uint8_t * data, size_t size, uint64_t hash = 0xcbf29ce484222325ull) {
    constexpr uint64_t prime = 0x100000001b3ull;

    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 29;
    }
    for (; i < size; ++i) {
        hash = (hash ^ data[i]) * prime;
    }
    return hash;
}

static uint64_t model_hash(const llama_model * model) {
    char description[256] = {};
    llama_model_desc(model, description, sizeof(description));

    const uint64_t numbers[] = {
        llama_model_n_params(model),
        llama_model_size(model),
        (uint64_t) llama_vocab_n_tokens(llama_model_get_vocab(model)),
    };

    uint64_t hash = checksum(reinterpret_cast<const uint8_t *>(description), strlen(description));
    return checksum(reinterpret_cast<const uint8_t *>(numbers), sizeof(numbers), hash);
}

save_job::save_job(Napi::Env env, std::shared_ptr<context_state> state) : job(env), state(std::move(state)) {}

void save_job::run() {
    const size_t size = llama_state_get_size(state->ctx);
    if (size == 0) {
        throw failure("ERR_H2O_STATE_INVALID", "llama.cpp cannot save the state");
    }

    bytes = std::make_unique<std::vector<uint8_t>>(sizeof(state_header) + size);
    uint8_t * data = bytes->data() + sizeof(state_header);

    const size_t n_written = llama_state_get_data(state->ctx, data, size);
    if (n_written == 0) {
        throw failure("ERR_H2O_STATE_INVALID", "llama.cpp cannot save the state");
    }
    bytes->resize(sizeof(state_header) + n_written);

    state_header header = {};
    memcpy(header.magic, state_magic, sizeof(state_magic));
    header.version  = state_version;
    header.position = state->position();
    header.model    = model_hash(state->model.get());
    header.size     = n_written;
    header.checksum = checksum(data, n_written);
    memcpy(bytes->data(), &header, sizeof(header));
}

Napi::Value save_job::result(Napi::Env env) {
    std::vector<uint8_t> * owned = bytes.release();

    return Napi::Buffer<uint8_t>::NewOrCopy(env, owned->data(), owned->size(),
        [](Napi::Env, uint8_t *, std::vector<uint8_t> * v) { delete v; }, owned);
}

restore_job::restore_job(Napi::Env env, std::shared_ptr<context_state> state, const Napi::Uint8Array & array) :
    job(env), state(std::move(state)), array(Napi::Reference<Napi::Uint8Array>::New(array, 1)),
    data(array.Data()), size(array.ElementLength()) {}

void restore_job::run() {
    state_header header;

    if (size < sizeof(header)) {
        throw failure("ERR_H2O_STATE_INVALID", "the state is too short", {{"bytes", (double) size}});
    }
    memcpy(&header, data, sizeof(header));

    if (memcmp(header.magic, state_magic, sizeof(state_magic)) != 0 || header.version != state_version) {
        throw failure("ERR_H2O_STATE_INVALID", "this is not a saved state of this version");
    }
    if (header.model != model_hash(state->model.get())) {
        throw failure("ERR_H2O_STATE_INVALID", "the state was saved with another model");
    }

    const uint8_t * payload = data + sizeof(header);
    if (header.size != size - sizeof(header) || header.checksum != checksum(payload, header.size)) {
        throw failure("ERR_H2O_STATE_INVALID", "the state is damaged", {{"bytes", (double) size}});
    }
    if (header.position < 0 || (uint32_t) header.position > llama_n_ctx_seq(state->ctx)) {
        throw failure("ERR_H2O_STATE_INVALID", "the state does not fit into the context",
            {{"nPrompt", (double) header.position}, {"nCtx", (double) llama_n_ctx_seq(state->ctx)}});
    }

    const size_t n_read = llama_state_set_data(state->ctx, payload, header.size);

    if (n_read == 0 || state->position() != header.position) {
        llama_memory_clear(state->memory, true);
        throw failure("ERR_H2O_STATE_INVALID", "the state was saved with other settings of the context",
            {{"position", 0.0}});
    }
    position = header.position;
}

Napi::Value restore_job::result(Napi::Env env) {
    return Napi::Number::New(env, position);
}

} // namespace addon
