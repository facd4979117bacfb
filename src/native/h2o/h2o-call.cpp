#include "h2o-call.h"

#include "llama-batch.h"
#include "llama-cparams.h"
#include "llama-kv-cells.h"

#include <algorithm>

// cell i holds position i of sequence 0 alone for all i below pos, and no further cell is taken
static bool h2o_is_contiguous(const llama_kv_cells & cells, llama_pos pos) {
    if (pos < 0 || (uint32_t) pos > cells.size()) {
        return false;
    }
    for (llama_pos i = 0; i < pos; ++i) {
        if (cells.is_empty(i) || cells.pos_get(i) != i || cells.get_shift(i) != 0 ||
            !cells.seq_has(i, 0) || cells.seq_count(i) != 1) {
            return false;
        }
    }
    return cells.used_max_p1() == (uint32_t) pos;
}

// not token ids of sequence 0, with causal attention
static h2o_reason h2o_refuse_input(const llama_batch & batch, uint32_t n_tokens, bool embd_all, const llama_cparams & cparams) {
    if (!batch.token || batch.embd) {
        return H2O_REASON_EMBEDDING_INPUT;
    }
    if (embd_all) {
        return H2O_REASON_UNSUPPORTED_CONTEXT;
    }
    if (!cparams.causal_attn) {
        return H2O_REASON_NON_CAUSAL;
    }
    for (uint32_t i = 0; i < n_tokens; ++i) {
        if (batch.n_seq_id[i] != 1 || batch.seq_id[i][0] != 0) {
            return H2O_REASON_MULTI_SEQUENCE;
        }
    }
    return H2O_REASON_NONE;
}

// not at consecutive positions behind cells that are those of their positions
static h2o_reason h2o_refuse_positions(const llama_batch & batch, uint32_t n_tokens, const llama_kv_cells & cells) {
    for (uint32_t i = 1; i < n_tokens; ++i) {
        if (batch.pos[i] != batch.pos[0] + (llama_pos) i) {
            return H2O_REASON_POSITIONS_NOT_CONSECUTIVE;
        }
    }
    return h2o_is_contiguous(cells, batch.pos[0]) ? H2O_REASON_NONE : H2O_REASON_KV_NOT_CONTIGUOUS;
}

h2o_reason h2o_refuse_batch(
        const llama_batch    & batch,
        uint32_t               n_tokens,
        bool                   embd_all,
        const llama_cparams  & cparams,
        const llama_kv_cells & cells) {
    const h2o_reason reason = h2o_refuse_input(batch, n_tokens, embd_all, cparams);
    if (reason != H2O_REASON_NONE) {
        return reason;
    }
    if (n_tokens <= cparams.n_ubatch) {
        return H2O_REASON_ONE_CHUNK;
    }
    // upstream's rollback of recurrent layers wants the last 1 + n_rs_seq tokens in one graph
    const uint32_t n_tail = n_tokens % cparams.n_ubatch;
    if (n_tail > 0 && n_tail <= cparams.n_rs_seq) {
        return H2O_REASON_UNSUPPORTED_CONTEXT;
    }
    return h2o_refuse_positions(batch, n_tokens, cells);
}

h2o_reason h2o_refuse_decode(
        const llama_batch    & batch,
        uint32_t               n_tokens,
        bool                   embd_all,
        uint32_t               n_heavy,
        const llama_cparams  & cparams,
        const llama_kv_cells & cells) {
    if (n_heavy == 0) {
        return H2O_REASON_OFF;
    }
    const h2o_reason reason = h2o_refuse_input(batch, n_tokens, embd_all, cparams);
    if (reason != H2O_REASON_NONE) {
        return reason;
    }
    if (n_tokens > H2O_DECODE_MAX_TOKENS) {
        return H2O_REASON_MANY_TOKENS;
    }
    // the last token has the most candidates: whole pages, without the first
    const int64_t n_cand = ((int64_t) batch.pos[0] + n_tokens - GGML_H2O_DECODE_LOCAL)/GGML_H2O_PAGE*GGML_H2O_PAGE - GGML_H2O_PAGE;
    if (n_cand <= H2O_DECODE_MIN_CHOICE*n_heavy) {
        return H2O_REASON_FEW_POSITIONS;
    }
    return h2o_refuse_positions(batch, n_tokens, cells);
}

std::vector<llama_ubatch> h2o_split_batch(
        llama_batch_allocr & balloc, const std::vector<h2o_plan> & plans, bool is_equal) {
    std::vector<llama_ubatch> res;

    for (const h2o_plan & plan : plans) {
        if (plan.is_first()) {
            balloc.split_reset();
        }
        const uint32_t n_tokens = plan.n_graph_tokens();

        res.push_back(is_equal ? balloc.split_equal(n_tokens, false, 0) : balloc.split_simple(n_tokens));

        if (plan.phase == H2O_PHASE_INTRA) {
            // phase 1 has no outputs, and the order of the outputs is that of the chunks
            std::fill(res.back().data->output.begin(), res.back().data->output.end(), 0);
        }
    }
    return res;
}

bool h2o_is_in_place(const llama_kv_cache::slot_info_vec_t & sinfos, const std::vector<h2o_plan> & plans) {
    for (size_t i = 0; i < sinfos.size(); ++i) {
        if (!sinfos[i].is_contiguous() || sinfos[i].head() != (uint32_t) plans[i].chunk_pos(plans[i].ic_begin)) {
            return false;
        }
    }
    return true;
}
