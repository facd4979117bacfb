// A memory of upstream, unchanged, that carries H2O: what is the same for every family of memories.
//
//   Memory      K and V of all positions; nothing is ever evicted
//   h2o_cache   what H2O keeps beside the cache that h2o_attn_cache names
//
// init_batch decides, once per llama_decode call, whether the call is sparse. A sparse call gets the family's sparse
// context, which hands out one ubatch per graph. llama_context reports the outcome with commit or call_failed.

#pragma once

#include "h2o-cache.h"

#include "llama-batch.h"
#include "llama-kv-cache.h"

#include <stdexcept>
#include <type_traits>
#include <utility>

template <class Memory>
class h2o_memory : public Memory, public h2o_cache {
public:
    // args: those of Memory
    template <class... Args>
    h2o_memory(const llama_cparams & cparams, const llama_model & model, Args &&... args) :
        Memory(model, std::forward<Args>(args)...),
        h2o_cache(model, cparams, h2o_attn_cache(static_cast<const Memory &>(*this))) {
    }

    llama_memory_context_ptr init_batch(llama_batch_allocr & balloc, uint32_t n_ubatch, bool embd_all) override {
        std::vector<h2o_step> steps = begin_call(balloc.get_batch(), balloc.get_n_tokens(), embd_all);

        if (!steps.empty()) {
            if (auto res = init_sparse(balloc, std::move(steps))) {
                return res;
            }
            refuse_call(H2O_REASON_KV_NOT_CONTIGUOUS);
        }
        return Memory::init_batch(balloc, n_ubatch, embd_all);
    }

    // of a reservation
    llama_memory_context_ptr init_full() override {
        forget_call();
        return Memory::init_full();
    }

    void call_failed(llama_seq_id seq_id, llama_pos pos) override {
        seq_rm(seq_id, pos, -1);
    }

    //
    // edits
    //

    void clear(bool data) override {
        Memory::clear(data);
        h2o_cache::clear();
    }

    bool seq_rm(llama_seq_id seq_id, llama_pos p0, llama_pos p1) override {
        const std::vector<llama_pos> ends_before = ends();

        if (!Memory::seq_rm(seq_id, p0, p1)) {
            return false;
        }
        removed(seq_id, p0, p1, ends_before);
        return true;
    }

    void seq_cp(llama_seq_id seq_id_src, llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1) override {
        Memory::seq_cp(seq_id_src, seq_id_dst, p0, p1);
        if (seq_id_src != seq_id_dst) {
            copied(seq_id_src, seq_id_dst);
        }
    }

    void seq_keep(llama_seq_id seq_id) override {
        Memory::seq_keep(seq_id);
        kept(seq_id);
    }

    void seq_add(llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos shift) override {
        Memory::seq_add(seq_id, p0, p1, shift);
        if (shift != 0) {
            changed(seq_id, "positions were shifted");
        }
    }

    void seq_div(llama_seq_id seq_id, llama_pos p0, llama_pos p1, int d) override {
        Memory::seq_div(seq_id, p0, p1, d);
        if (d != 1) {
            changed(seq_id, "positions were divided");
        }
    }

    std::map<ggml_backend_buffer_type_t, size_t> memory_breakdown() const override {
        auto res = Memory::memory_breakdown();
        engine.store.add_to_breakdown(res);
        return res;
    }

    void state_write(llama_io_write_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) const override {
        Memory::state_write(io, seq_id, flags);
        if (has_attn_cache(flags)) {
            write(io, seq_id);
        }
    }

    void state_read(llama_io_read_i & io, llama_seq_id seq_id, llama_state_seq_flags flags) override {
        if (has_attn_cache(flags)) {
            reset_states(seq_id); // a cache that is part of Memory clears itself where it cannot read on
        }
        Memory::state_read(io, seq_id, flags);

        if (has_attn_cache(flags) && !read(io, seq_id)) {
            // as upstream does with a state that it cannot read to the end
            if (seq_id < 0) {
                clear(true);
            } else {
                seq_rm(seq_id, -1, -1);
            }
            throw std::runtime_error("the H2O part of the state is damaged");
        }
    }

protected:
    // a sparse call; null if its tokens would not be stored in the cells of their positions
    virtual llama_memory_context_ptr init_sparse(llama_batch_allocr & balloc, std::vector<h2o_step> steps) = 0;

private:
    // memories of several parts write the others alone where a partial state is asked for
    static bool has_attn_cache(llama_state_seq_flags flags) {
        return std::is_same_v<Memory, llama_kv_cache> || !(flags & LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
    }
};
