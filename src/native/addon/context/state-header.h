// What stands before llama.cpp's bytes in a saved state: what they belong to, and a checksum of all of it.

#pragma once

#include "context-state.h"

#include <cstddef>
#include <cstdint>

namespace addon {

// Plain bytes without gaps. Names, so that what is added later is told from what is here
struct state_header {
    char     magic[8];
    uint16_t version;
    uint16_t n_streams;     // of the cache, where there are several: the state fits no other number; else 0
    int32_t  position;      // tokens
    uint64_t fingerprint;   // of the model, its adapters and overrides
    char     type_k[16];
    char     type_v[16];
    char     schedule[16];
    char     selection[16]; // how memory sets are chosen
    uint32_t n_chunk;       // S
    uint32_t n_local;       // L
    uint32_t n_heavy;       // H
    uint32_t has_memory;    // 1 if the method goes on from a memory set
    uint64_t n_note;        // bytes of the caller's own that follow
    uint64_t size;          // bytes that follow, the note and llama.cpp's
    uint64_t checksum;      // of the header, with 0 here, and of these bytes
};

// of what a sequence holds now, for `size` bytes at `data`, the first of which are a note
state_header state_header_of(
    const context_state & state, llama_seq_id seq_id, const uint8_t * data, size_t size, size_t n_note);

// Throws ERR_H2O_STATE_INVALID unless `bytes` are a whole state that this context can hold; returns the header
state_header state_header_read(const context_state & state, const uint8_t * bytes, size_t n_bytes);

// the first setting of H2O that `saved` has otherwise than the context: "off", "local", ...; null if none
const char * state_header_difference(const context_state & state, const state_header & saved);

} // namespace addon
