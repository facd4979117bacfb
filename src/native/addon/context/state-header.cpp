#include "state-header.h"

#include "runtime/failure.h"
#include "runtime/hash.h"

#include <cstring>

namespace addon {

static constexpr char     magic[8] = { 'H', '2', 'O', 'S', 'T', 'A', 'T', 'E' };
static constexpr uint16_t version  = 4;

static_assert(sizeof(state_header) == 8 + 2*2 + 4 + 8 + 4*16 + 4*4 + 3*8, "no gaps: the checksum is over all bytes");

template <size_t n>
static void set_name(char (&field)[n], const char * name) {
    strncpy(field, name, n - 1);
}

// a field of a file may lack its end
template <size_t n>
static std::string get_name(const char (&field)[n]) {
    return std::string(field, strnlen(field, n));
}

static uint64_t checksum_of(state_header header, const uint8_t * data, size_t size) {
    header.checksum = 0;
    return hash_bytes(data, size, hash_bytes(&header, sizeof(header)));
}

// all but what depends on the bytes
static state_header describe(const context_state & state, llama_seq_id seq_id) {
    const h2o_info info = h2o_get_info(state.ctx);

    state_header header = {};

    memcpy(header.magic, magic, sizeof(magic));
    header.version     = version;
    header.n_streams   = state.n_streams;
    header.position    = state.position(seq_id);
    header.fingerprint = state.fingerprint;
    header.n_chunk     = info.n_chunk;
    header.n_local     = info.n_local;
    header.n_heavy     = info.n_heavy;
    header.has_memory  = h2o_has_memory(state.ctx, seq_id);

    set_name(header.type_k,    ggml_type_name(state.type_k));
    set_name(header.type_v,    ggml_type_name(state.type_v));
    set_name(header.schedule,  h2o_schedule_name(info.schedule));
    set_name(header.selection, h2o_policy_name(info.policy));

    return header;
}

state_header state_header_of(
        const context_state & state, llama_seq_id seq_id, const uint8_t * data, size_t size, size_t n_note) {
    state_header header = describe(state, seq_id);

    header.n_note   = n_note;
    header.size     = size;
    header.checksum = checksum_of(header, data, size);

    return header;
}

static void refuse(const std::string & message, std::vector<failure_detail> details = {}) {
    throw failure("ERR_H2O_STATE_INVALID", message, std::move(details));
}

state_header state_header_read(const context_state & state, const uint8_t * bytes, size_t n_bytes) {
    state_header saved;

    if (n_bytes < sizeof(saved)) {
        refuse("the state is too short", {{"bytes", (double) n_bytes}});
    }
    memcpy(&saved, bytes, sizeof(saved));

    if (memcmp(saved.magic, magic, sizeof(magic)) != 0 || saved.version != version) {
        refuse("this is not a saved state of this version");
    }
    if (saved.size != n_bytes - sizeof(saved) || saved.checksum != checksum_of(saved, bytes + sizeof(saved), saved.size)) {
        refuse("the state is damaged", {{"bytes", (double) n_bytes}});
    }

    if (saved.n_note > saved.size) {
        refuse("the state is damaged", {{"bytes", (double) n_bytes}});
    }

    const state_header here = describe(state, 0);

    if (saved.fingerprint != here.fingerprint) {
        refuse("the state was saved with another model, or with other adapters, metadata overrides or RoPE options");
    }
    if (saved.n_streams != here.n_streams) {
        refuse("the state was saved in a context with another number of sequences",
            {{"streams", (double) saved.n_streams}});
    }
    if (get_name(saved.type_k) != get_name(here.type_k) || get_name(saved.type_v) != get_name(here.type_v)) {
        refuse("the state was saved with other cache types",
            {{"typeK", get_name(saved.type_k)}, {"typeV", get_name(saved.type_v)}});
    }
    if (saved.position < 0 || (uint32_t) saved.position > llama_n_ctx_seq(state.ctx)) {
        refuse("the state does not fit into the context",
            {{"nPrompt", (double) saved.position}, {"nCtx", (double) llama_n_ctx_seq(state.ctx)}});
    }

    return saved;
}

const char * state_header_difference(const context_state & state, const state_header & saved) {
    const state_header here = describe(state, 0);
    const h2o_info     info = h2o_get_info(state.ctx);

    return info.reason != H2O_REASON_NONE                          ? "off"       :
           !h2o_get_policy_traits(info.policy)->has_memory         ? nullptr     : // K is all that it needs
           saved.n_chunk != here.n_chunk                           ? "chunk"     :
           saved.n_local != here.n_local                           ? "local"     :
           saved.n_heavy != here.n_heavy                           ? "heavy"     :
           get_name(saved.schedule)  != get_name(here.schedule)    ? "schedule"  :
           get_name(saved.selection) != get_name(here.selection)   ? "selection" : nullptr;
}

} // namespace addon
