#include "step-job.h"

#include "call-result.h"
#include "decode-outcome.h"

namespace addon {

step_job::step_job(Napi::Env env, std::vector<step_row> rows, std::shared_ptr<context_state> state) :
    job(env, -1), rows(std::move(rows)), state(std::move(state)), outcomes(this->rows.size()) {}

std::vector<size_t> step_job::find_rows_that_fit() {
    std::vector<size_t> res;
    for (size_t i = 0; i < rows.size(); ++i) {
        outcomes[i].position = state->position(rows[i].seq_id);
        try {
            state->require_room(outcomes[i].position, 1);
            res.push_back(i);
        } catch (const failure & err) {
            outcomes[i].error = err;
        }
    }
    return res;
}

int step_job::decode(const std::vector<size_t> & fit) {
    std::vector<llama_token>    tokens;
    std::vector<llama_seq_id *> seq_id;
    for (const size_t i : fit) {
        tokens.push_back(rows[i].token);
        seq_id.push_back(&rows[i].seq_id);
    }
    std::vector<int8_t> output(fit.size(), 1);

    return decode_tokens(state->ctx, tokens, seq_id, output);
}

void step_job::draw(size_t i, int32_t i_output) {
    outcome & own = outcomes[i];
    try {
        const float * logits = llama_get_logits_ith(state->ctx, i_output);
        if (!logits) {
            throw failure("ERR_H2O_DECODE_FAILED", "the model gives no logits");
        }
        if (rows[i].draw) {
            own.drawn = rows[i].draw->draw(logits, aborted());
        }
    } catch (...) {
        own.error = caught_failure();
        own.error->details.emplace_back("position", (double) own.position);
    }
}

void step_job::run() {
    const std::vector<size_t> fit = find_rows_that_fit();
    if (fit.empty()) {
        return;
    }
    h2o_set_decode(state->ctx, 0);
    state->before.drop();

    const int64_t t_start_us = llama_time_us();

    const decode_outcome decoded = outcome_of([&] { return decode(fit); });
    ms = (llama_time_us() - t_start_us) / 1000.0;

    if (decoded.status != 0) {
        for (const size_t i : fit) {
            const int32_t position = state->rollback(rows[i].seq_id, outcomes[i].position, decoded.is_torn);

            outcomes[i].error = decoded.as_failure(1, position);
        }
        return;
    }
    if (!h2o_get_last_call(state->ctx, &call)) {
        call.reason        = H2O_REASON_OFF;
        call.decode_reason = H2O_REASON_OFF;
    }
    call.n_tokens = 1;
    for (size_t i_output = 0; i_output < fit.size(); ++i_output) {
        const size_t i = fit[i_output];

        outcomes[i].position = state->position(rows[i].seq_id);
        draw(i, (int32_t) i_output);
    }
}

Napi::Value step_job::result(Napi::Env env) {
    Napi::Array array = Napi::Array::New(env, rows.size());

    for (uint32_t i = 0; i < rows.size(); ++i) {
        const outcome & own = outcomes[i];
        if (own.error) {
            Napi::Object failed = Napi::Object::New(env);
            failed.Set("error", own.error->to_js(env));
            array.Set(i, failed);
            continue;
        }
        h2o_call its = call;
        its.pos = own.position - 1;
        array.Set(i, call_to_js(env, its, own.position, ms, own.drawn, rows[i].draw.get()));
    }
    return array;
}

} // namespace addon
