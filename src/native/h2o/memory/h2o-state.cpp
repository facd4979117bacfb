#include "h2o-state.h"

#include "h2o-store.h"

#include "llama-impl.h"
#include "llama-io.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

void h2o_state::reset() {
    // always the same copy, so that a repeated prompt finds the graph of the first one
    *this = of(seq_id);
}

void h2o_state::truncate(llama_pos pos) {
    if (pos <= 0) {
        reset();
        return;
    }
    policy->truncate(carry, pos);
    n_signed = std::min(n_signed, pos);
}

std::vector<h2o_plan> h2o_state::plan(h2o_plan call, h2o_schedule schedule, int32_t n_graph_chunks) const {
    // the chain writes them in turns, and never the one that holds the state
    const int32_t spare[2] = { copy == 0 ? 1 : 0, copy == 2 ? 1 : 2 };

    std::vector<h2o_plan> res;

    call.stream    = stream;
    call.src       = copy;
    call.dst       = spare[0];
    call.inherited = carry;

    const auto add = [&](h2o_phase phase, int32_t n_graph_chunks) {
        const bool is_chained = phase != H2O_PHASE_INTRA; // intra attention reads no state

        call.phase = phase;
        for (int32_t ic = 0; ic < call.n_chunks(); ic += n_graph_chunks) {
            call.ic_begin = ic;
            call.ic_end   = std::min(ic + n_graph_chunks, call.n_chunks());
            res.push_back(call);

            if (is_chained) {
                call.inherited = policy->carry_after(call, call.ic_end - 1);
                call.src       = call.dst;
                call.dst       = call.src == spare[0] ? spare[1] : spare[0];
            }
        }
    };

    if (schedule == H2O_SCHEDULE_SINGLE_PASS) {
        add(H2O_PHASE_BOTH, n_graph_chunks);
    } else {
        add(H2O_PHASE_INTRA, n_graph_chunks);
        add(H2O_PHASE_INTER, 1);
    }
    return res;
}

void h2o_state::advance(const h2o_plan & last) {
    copy      = last.dst;
    carry     = policy->carry_after(last, last.ic_end - 1);
    n_chunks += last.ic_end;
}

//
// save and restore
//

struct h2o_state_header {
    char     magic[4];
    uint32_t n_local;
    uint32_t n_heavy;
    uint32_t n_chunk;
    int32_t  n_chunks; // of the state
    uint32_t policy;
    uint64_t size;     // bytes that follow

    ggml_h2o_tracked tracked; // of the carry; an index is made again
};

static const char H2O_STATE_MAGIC[4] = { 'H', '2', 'O', '1' };

static h2o_state_header h2o_header_of(const h2o_state_owner & owner) {
    h2o_state_header res = {};
    memcpy(res.magic, H2O_STATE_MAGIC, sizeof(res.magic));
    res.n_local = owner.params.n_local;
    res.n_heavy = owner.params.n_heavy;
    res.n_chunk = owner.n_chunk;
    res.policy  = owner.policy.traits.type;
    return res;
}

void h2o_state_write(
        llama_io_write_i      & io,
        const h2o_state_owner & owner,
        const h2o_store       & store,
        const h2o_state       & state,
        bool                    is_carried) {
    if (store.size_copy() == 0) {
        return; // such a policy's states are llama.cpp's own
    }
    h2o_state_header header = h2o_header_of(owner);
    if (is_carried) {
        header.n_chunks = state.n_chunks;
        header.tracked  = state.carry.tracked;
        header.size     = store.size_copy();
    }
    io.write(&header, sizeof(header));

    if (!is_carried) {
        return;
    }

    std::vector<uint8_t> data;

    for (const int32_t il : store.layer_ids()) {
        for (const ggml_tensor * t : store.kept(il, state.stream, state.copy)) {
            data.resize(ggml_nbytes(t));
            ggml_backend_tensor_get(t, data.data(), 0, data.size());
            io.write(data.data(), data.size());
        }
    }
}

static void h2o_skip(llama_io_read_i & io, uint64_t size) {
    std::vector<uint8_t> data(64*1024);

    while (size > 0) {
        const size_t n = std::min<uint64_t>(size, data.size());
        io.read(data.data(), n);
        size -= n;
    }
}

bool h2o_state_read(
        llama_io_read_i       & io,
        const h2o_state_owner & owner,
        const h2o_store       & store,
        h2o_state             & state,
        llama_pos               end) {
    const h2o_state_header own = h2o_header_of(owner);

    // a policy that keeps nothing misses nothing
    const bool misses = store.size_copy() > 0;

    h2o_state_header header = {};
    try {
        io.read(&header, sizeof(header));
    } catch (const std::exception &) {
        header = {};
    }
    if (memcmp(header.magic, own.magic, sizeof(own.magic)) != 0) {
        if (misses) {
            LLAMA_LOG_WARN("%s: the state comes from a context without H2O: it starts without a memory set\n", __func__);
        }
        return true;
    }
    if (header.size == 0) {
        return true;
    }

    const bool is_ours =
        header.n_local == own.n_local && header.n_heavy == own.n_heavy && header.n_chunk == own.n_chunk &&
        header.policy  == own.policy  && header.size    == store.size_copy();

    if (!is_ours) {
        if (misses) {
            LLAMA_LOG_WARN("%s: the state has another H2O budget, chunk size or policy: it starts without a memory set\n",
                    __func__);
        }
        h2o_skip(io, header.size);
        return true;
    }

    const h2o_carry carry = { header.tracked, 0 };

    bool is_valid = owner.policy.is_valid(carry, end);

    std::vector<uint8_t> data;

    for (const int32_t il : store.layer_ids()) {
        const h2o_tensors & tensors = store.kept(il, state.stream, state.copy);

        for (size_t i = 0; i < tensors.size(); ++i) {
            data.resize(ggml_nbytes(tensors[i]));
            io.read(data.data(), data.size());
            is_valid = is_valid && owner.policy.is_valid(carry, end, i, tensors[i], data.data());
            ggml_backend_tensor_set(tensors[i], data.data(), 0, data.size());
        }
    }
    if (is_valid) {
        state.carry    = carry;
        state.n_chunks = header.n_chunks;
    }
    return is_valid;
}
