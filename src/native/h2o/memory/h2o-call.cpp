#include "h2o-call.h"

#include "llama-batch.h"
#include "llama-cparams.h"
#include "llama-kv-cells.h"

#include <algorithm>

// what speaks against all tokens of a call
static h2o_reason h2o_refuse_input(const llama_batch & batch, bool embd_all, const llama_cparams & cparams) {
    return
        !batch.token || batch.embd ? H2O_REASON_EMBEDDING_INPUT :
        embd_all                   ? H2O_REASON_UNSUPPORTED_CONTEXT :
        !cparams.causal_attn       ? H2O_REASON_NON_CAUSAL : H2O_REASON_NONE;
}

std::vector<h2o_run> h2o_find_runs(
        const llama_batch & batch, uint32_t n_tokens, bool embd_all, const llama_cparams & cparams) {
    const h2o_reason reason = h2o_refuse_input(batch, embd_all, cparams);

    std::vector<h2o_run> res;

    for (uint32_t i = 0; i < n_tokens; ++i) {
        if (batch.n_seq_id[i] != 1) {
            return { { batch.seq_id[0][0], batch.pos[0], n_tokens, H2O_REASON_MULTI_SEQUENCE } };
        }
        const llama_seq_id seq_id = batch.seq_id[i][0];

        const auto run = std::find_if(res.begin(), res.end(), [&](const h2o_run & r) { return r.seq_id == seq_id; });

        if (run == res.end()) {
            res.push_back({ seq_id, batch.pos[i], 1, reason });
            continue;
        }
        if (batch.seq_id[i - 1][0] != seq_id) {
            // graphs are made run by run, and upstream splits a sequence from where its first token stands
            return { { batch.seq_id[0][0], batch.pos[0], n_tokens, H2O_REASON_MULTI_SEQUENCE } };
        }
        if (batch.pos[i] != run->pos + (llama_pos) run->n_tokens && run->reason == H2O_REASON_NONE) {
            run->reason = H2O_REASON_POSITIONS_NOT_CONSECUTIVE;
        }
        run->n_tokens += 1;
    }
    return res;
}

h2o_reason h2o_refuse_length(const h2o_run & run, bool is_expected, const llama_cparams & cparams) {
    if (run.n_tokens <= cparams.n_ubatch && !is_expected) {
        return H2O_REASON_ONE_CHUNK;
    }
    // upstream's rollback of recurrent layers wants the last 1 + n_rs_seq tokens in one graph
    const uint32_t n_tail = run.n_tokens % cparams.n_ubatch;

    return n_tail > 0 && n_tail <= cparams.n_rs_seq ? H2O_REASON_UNSUPPORTED_CONTEXT : H2O_REASON_NONE;
}

h2o_reason h2o_refuse_cells(const h2o_run & run, const llama_kv_cells & cells) {
    if (run.pos < 0 || run.pos + (int64_t) run.n_tokens > cells.size()) {
        return H2O_REASON_KV_NOT_CONTIGUOUS;
    }
    for (llama_pos i = 0; i < run.pos; ++i) {
        if (cells.is_empty(i) || cells.pos_get(i) != i || cells.get_shift(i) != 0 || !cells.seq_has(i, run.seq_id)) {
            return H2O_REASON_KV_NOT_CONTIGUOUS;
        }
    }
    for (uint32_t i = run.pos; i < std::min(run.pos + run.n_tokens, cells.used_max_p1()); ++i) {
        if (!cells.is_empty(i)) {
            return H2O_REASON_KV_NOT_CONTIGUOUS;
        }
    }
    return H2O_REASON_NONE;
}

int64_t h2o_decode_candidates(int64_t n_pos) {
    // whole pages, without the first
    return (n_pos - GGML_H2O_DECODE_LOCAL)/GGML_H2O_PAGE*GGML_H2O_PAGE - GGML_H2O_PAGE;
}

h2o_reason h2o_refuse_decode(const std::vector<h2o_run> & runs, uint32_t n_heavy, const llama_kv_cells & cells) {
    if (n_heavy == 0) {
        return H2O_REASON_OFF;
    }
    if (runs.size() > 1) {
        return H2O_REASON_MULTI_SEQUENCE;
    }
    const h2o_run & run = runs.front();

    if (run.reason != H2O_REASON_NONE) {
        return run.reason;
    }
    if (run.n_tokens > GGML_H2O_DECODE_SPARSE_MAX) {
        return H2O_REASON_MANY_TOKENS;
    }
    // the last token has the most candidates
    const int64_t n_cand = h2o_decode_candidates((int64_t) run.pos + run.n_tokens);

    return n_cand <= H2O_DECODE_MIN_CHOICE*n_heavy ? H2O_REASON_FEW_POSITIONS : h2o_refuse_cells(run, cells);
}

std::vector<llama_ubatch> h2o_split_batch(llama_batch_allocr & balloc, const std::vector<h2o_step> & steps) {
    std::vector<llama_ubatch> res;

    balloc.split_reset();

    for (const h2o_step & step : steps) {
        const h2o_phase phase = step.plan ? step.plan->phase : H2O_PHASE_BOTH;

        if (phase == H2O_PHASE_INTER && step.plan->is_first()) {
            balloc.split_reset();
        }
        res.push_back(balloc.split_seq(step.n_tokens));

        if (phase == H2O_PHASE_INTRA) {
            // phase 1 has no outputs, and the order of the outputs is that of the chunks
            std::fill(res.back().data->output.begin(), res.back().data->output.end(), 0);
        }
    }
    return res;
}

bool h2o_is_in_place(const llama_kv_cache::slot_info_vec_t & sinfos, const std::vector<h2o_step> & steps) {
    for (size_t i = 0; i < sinfos.size(); ++i) {
        const std::optional<h2o_plan> & plan = steps[i].plan;

        if (plan && (!sinfos[i].is_contiguous() || sinfos[i].head() != (uint32_t) plan->chunk_pos(plan->ic_begin))) {
            return false;
        }
    }
    return true;
}
