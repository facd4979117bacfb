#include "decode.h"

#include "call-result.h"
#include "decode-outcome.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace addon {

decode_job::decode_job(
        Napi::Env env, decode_input input, std::shared_ptr<context_state> state, std::shared_ptr<trace_ptr> trace) :
    job(env, input.seq_id), input(std::move(input)), state(std::move(state)), trace_target(std::move(trace)) {}

// llama_decode asserts on these; the TypeScript layer has checked them before
void decode_job::check() const {
    const size_t n = input.tokens.size();

    if (n == 0) {
        throw failure("ERR_H2O_EMPTY_PROMPT", "there are no tokens");
    }

    const size_t n_max = state->causal ? llama_n_batch(state->ctx) : llama_n_ubatch(state->ctx);
    if (n > n_max) {
        throw failure("ERR_H2O_BATCH_TOO_LARGE", "too many tokens for one call",
            {{"nTokens", (double) n}, {"nBatch", (double) n_max}});
    }

    state->require_room(base, n);

    if (input.n_expected > 0) {
        h2o_expect(state->ctx, input.seq_id, input.n_expected);
    }

    if (!h2o_set_decode(state->ctx, input.n_decode)) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the context has no index for sparse decoding",
            {{"decode", (double) input.n_decode}, {"position", (double) base}});
    }
}

// for the share of a running call: what earlier calls of the same kind had, and a rough guess for the first
void decode_job::expect_nodes() {
    const double n        = (double) input.tokens.size();
    const double n_ubatch = llama_n_ubatch(state->ctx);
    const double n_parts  = std::ceil(n / n_ubatch);
    const bool   sparse   = n_parts > 1 && h2o_get_info(state->ctx).reason == H2O_REASON_NONE;

    const double n_layer = llama_model_n_layer(state->model.get());
    const double known   = sparse ? state->n_nodes_per_chunk : state->n_nodes_per_ubatch;
    const double guess   = sparse ? 40.0 * n_layer : 25.0 * n_layer;

    state->n_nodes_expected.store((int64_t) (n_parts * (known > 0.0 ? known : guess)), std::memory_order_relaxed);
    state->n_nodes_done.store(0, std::memory_order_relaxed);
    state->running_seq.store(input.seq_id, std::memory_order_relaxed);
}

void decode_job::learn_nodes() {
    const double n_nodes = (double) state->n_nodes_done.load(std::memory_order_relaxed);

    if (call.path == H2O_PATH_SPARSE) {
        state->n_nodes_per_chunk = n_nodes / std::max(1, call.n_chunks);
    } else {
        const double n_ubatch = llama_n_ubatch(state->ctx);
        state->n_nodes_per_ubatch = n_nodes / std::ceil((double) input.tokens.size() / n_ubatch);
    }
}

int decode_job::decode() {
    const size_t n = input.tokens.size();

    // an embedding context outputs every token, and warns when that was not asked for
    const bool output_all  = input.logits == outputs::all || state->embeddings || !draft.empty();
    const bool output_last = output_all || input.logits == outputs::last || input.draw;

    std::vector<int8_t> output(n, output_all);
    output[n - 1] = output_last;

    std::vector<llama_seq_id *> seq_id(n, &input.seq_id);

    return decode_tokens(state->ctx, input.tokens, seq_id, output);
}

void decode_job::copy_logits() {
    const size_t n_vocab = llama_vocab_n_tokens(state->vocab());
    const size_t n_rows  = input.logits == outputs::all ? input.tokens.size() : 1;

    for (size_t i = 0; i < n_rows; ++i) {
        const float * row = llama_get_logits_ith(state->ctx, input.logits == outputs::all ? (int32_t) i : -1);
        if (!row) {
            throw failure("ERR_H2O_DECODE_FAILED", "the model gives no logits");
        }
        memcpy(input.out + i * n_vocab, row, n_vocab * sizeof(float));
    }
}

void decode_job::copy_trace() {
    trace = std::make_shared<std::vector<trace_entry>>();

    for (int32_t i = 0; i < h2o_trace_n(state->ctx); ++i) {
        h2o_trace t;
        if (h2o_get_trace(state->ctx, i, &t)) {
            trace->emplace_back(t);
        }
    }
}

void decode_job::run() {
    base = position = state->position(input.seq_id);

    if (is_aborted()) {
        throw failure_interrupted(position);
    }
    propose();
    check();
    expect_nodes();

    const int64_t t_start_us = llama_time_us();

    state->begin_call(input.seq_id, input.tokens.size());

    // A call of one token on recurrent layers runs to its end: it is short, and could not be rolled back.
    state->running = state->is_recurrent() && input.tokens.size() == 1 ? nullptr : this;
    const decode_outcome outcome = outcome_of([&] {
        const int status = decode();
        ms = (llama_time_us() - t_start_us) / 1000.0;
        if (status == 0) {
            read_results();
        }
        return status;
    });
    state->running = nullptr;
    state->n_nodes_expected.store(0, std::memory_order_relaxed); // no share of a call that is over

    if (outcome.status != 0) {
        position = state->rollback(input.seq_id, base, outcome.is_torn);
        if (is_aborted()) {
            throw failure_interrupted(position);
        }
        throw outcome.as_failure(input.tokens.size(), position);
    }

    if (input.draw) {
        draw();
    }
}

// one ubatch has room for all of it, so the call is dense
void decode_job::propose() {
    if (!input.drafter) {
        return;
    }
    const double n_positions = std::min((double) llama_n_ctx_seq(state->ctx), state->n_positions);
    const double n_max = std::min({ (double) input.n_draft_max, llama_n_ubatch(state->ctx) - 1.0, n_positions - base - 1.0 });

    draft = input.drafter->propose(input.tokens.back(), (size_t) std::max(n_max, 0.0));
    input.tokens.insert(input.tokens.end(), draft.begin(), draft.end());
    input.n_expected = (uint32_t) input.tokens.size();
}

void decode_job::draw() {
    try {
        if (input.drafter && input.drafter->failed) {
            std::rethrow_exception(input.drafter->failed);
        }
        if (draft.empty()) {
            drawn.push_back(draw_one(-1));
        } else {
            draw_drafted();
        }
    } catch (const limit_work_aborted &) {
        throw failure_interrupted(position);
    } catch (failure & err) {
        err.details.emplace_back("position", (double) position);
        throw;
    }
}

drawn_token decode_job::draw_one(int32_t i_output) {
    const float * logits = llama_get_logits_ith(state->ctx, i_output);
    if (!logits) {
        throw failure("ERR_H2O_DECODE_FAILED", "the model gives no logits");
    }
    return input.draw->draw(logits, aborted());
}

// an abort leaves the call's own token, as if no draft had been read
void decode_job::draw_drafted() {
    std::exception_ptr failed;
    try {
        for (size_t i = 0; i <= draft.size(); ++i) {
            drawn.push_back(draw_one((int32_t) i));

            const llama_token token = drawn.back().token;
            if (i == draft.size() || token != draft[i] || llama_vocab_is_eog(state->vocab(), token)) {
                break;
            }
        }
    } catch (...) {
        failed = std::current_exception();
    }
    if (failed && is_aborted()) {
        drawn.clear();
    }
    const size_t n_accepted = drawn.empty() ? 0 : drawn.size() - 1;

    call.n_tokens = 1 + (int32_t) n_accepted;
    if (!llama_memory_seq_rm(state->memory, input.seq_id, base + call.n_tokens, -1)) {
        state->clear(input.seq_id);
    }
    position = state->position(input.seq_id);

    input.drafter->judge(draft, n_accepted);
    input.drafter->failed = failed;
    if (drawn.empty()) {
        std::rethrow_exception(failed);
    }
}

void decode_job::read_results() {
    position = state->position(input.seq_id);

    if (!h2o_get_last_call(state->ctx, &call)) {
        call.n_tokens      = (int32_t) input.tokens.size();
        call.pos           = base;
        call.reason        = H2O_REASON_OFF;
        call.decode_reason = H2O_REASON_OFF;
    }
    learn_nodes();

    if (input.out) {
        copy_logits();
    }
    if (state->trace && call.path == H2O_PATH_SPARSE) {
        copy_trace();
    }
}

Napi::Value decode_job::result(Napi::Env env) {
    if (trace) {
        *trace_target = trace;
    }

    Napi::Object object = call_to_js(env, call, position, ms, drawn.empty() ? drawn_token() : drawn[0], input.draw.get());
    if (!draft.empty()) {
        Napi::Array more = Napi::Array::New(env, drawn.size() - 1);
        for (uint32_t i = 1; i < drawn.size(); ++i) {
            Napi::Object one = Napi::Object::New(env);
            set_drawn(one, drawn[i], input.draw.get());
            more.Set(i - 1, one);
        }
        object.Set("more",    more);
        object.Set("drafted", Napi::Number::New(env, (double) draft.size()));
    }
    return object;
}

} // namespace addon
