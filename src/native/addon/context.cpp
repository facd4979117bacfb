#include "context.h"

#include "model.h"
#include "context/context-open.h"
#include "context/edit-jobs.h"
#include "context/state-jobs.h"
#include "context/step-job.h"
#include "model/tokenize-job.h"
#include "runtime/values.h"

#include <algorithm>

namespace addon {

namespace {

llama_seq_id sequence_of(const Napi::CallbackInfo & info) {
    return info[0].As<Napi::Number>().Int32Value();
}

class free_job : public job {
public:
    free_job(Napi::Env env, std::shared_ptr<context_state> state) : job(env), state(std::move(state)) {}

protected:
    void run() override {
        llama_free(state->ctx);
        state->ctx    = nullptr;
        state->memory = nullptr;
        state->threads.stop();
        state->model.reset();
    }

    Napi::Value result(Napi::Env env) override { return env.Undefined(); }

private:
    std::shared_ptr<context_state> state;
};

} // namespace

Napi::Function context_object::define(Napi::Env env) {
    return DefineClass(env, "NativeContext", {
        InstanceMethod("open",          &context_object::open),
        InstanceMethod("tokenize",      &context_object::tokenize),
        InstanceMethod("startSampling", &context_object::start_sampling),
        InstanceMethod("decode",        &context_object::decode),
        InstanceMethod("step",          &context_object::step),
        InstanceMethod("progress",      &context_object::progress),
        InstanceMethod("abort",         &context_object::abort),
        InstanceMethod("forget",        &context_object::forget),
        InstanceMethod("fork",          &context_object::fork),
        InstanceMethod("stateSize",     &context_object::state_size),
        InstanceMethod("save",          &context_object::save),
        InstanceMethod("restore",       &context_object::restore),
        InstanceMethod("piece",         &context_object::piece),
        InstanceMethod("isEog",         &context_object::is_eog),
        InstanceMethod("takeTrace",     &context_object::take_trace),
        InstanceMethod("dispose",       &context_object::dispose),
    });
}

context_object::context_object(const Napi::CallbackInfo & info) :
    Napi::ObjectWrap<context_object>(info) {
    const model_object * model = model_object::Unwrap(info[0].As<Napi::Object>());

    on_gpu = model->state->on_gpu;
    state  = or_throw(info.Env(), [&] {
        if (!model->state->model) {
            throw failure("ERR_H2O_DISPOSED", "the model is not loaded");
        }
        return std::make_shared<context_state>(model->state->model, model->state->fingerprint);
    });
    state->n_positions = model->state->n_positions;
    state->causal      = model->state->causal;
    state->adapters    = model->state->adapters;

    thread = worker::start(info.Env(), "h2o_context");
}

context_object::~context_object() {
    if (thread) {
        thread->shutdown();
    }
    report_freed(Env());
}

void context_object::report_freed(Napi::Env env) {
    if (state && state->external_bytes > 0) {
        Napi::MemoryManagement::AdjustExternalMemory(env, -state->external_bytes);
        state->external_bytes = 0;
    }
}

const llama_vocab * context_object::vocab(Napi::Env env) const {
    return or_throw(env, [&] {
        if (is_disposed) {
            throw failure("ERR_H2O_DISPOSED", "the context was disposed");
        }
        return state->vocab();
    });
}

Napi::Value context_object::open(const Napi::CallbackInfo & info) {
    context_options options = context_options_from_js(info[0].As<Napi::Object>());
    options.on_gpu = on_gpu;

    return thread->submit(std::make_unique<context_open_job>(info.Env(), std::move(options), state));
}

Napi::Value context_object::tokenize(const Napi::CallbackInfo & info) {
    vocab(info.Env());

    tokenize_options options;
    options.add_special   = info[2].ToBoolean();
    options.parse_special = info[3].ToBoolean();

    return thread->submit(
        std::make_unique<tokenize_job>(info.Env(), state->model, info[1].ToString().Utf8Value(), options, sequence_of(info)));
}

Napi::Value context_object::start_sampling(const Napi::CallbackInfo & info) {
    vocab(info.Env());

    const auto drafter = info[3].IsTypedArray() ? std::make_shared<drafts>(get_int32s(info[3])) : nullptr;

    return thread->submit(std::make_unique<sampler_job>(info.Env(), state->model,
        sampler_options_from_js(info[1].As<Napi::Object>()), get_int32s(info[2]), drafter, sequences[sequence_of(info)].draw,
        sequence_of(info)));
}

Napi::Value context_object::decode(const Napi::CallbackInfo & info) {
    decode_input input;
    input.seq_id = sequence_of(info);
    input.tokens = get_int32s(info[1]);
    input.logits = (outputs) info[2].As<Napi::Number>().Int32Value();

    slots & own = sequences[input.seq_id];

    if (info[3].IsTypedArray()) {
        const Napi::Float32Array out = info[3].As<Napi::Float32Array>();

        const size_t n_rows = input.logits == outputs::all  ? input.tokens.size() :
                              input.logits == outputs::last ? 1 : 0;
        if (out.ElementLength() != n_rows * llama_vocab_n_tokens(vocab(info.Env()))) {
            throw Napi::RangeError::New(info.Env(), "the logits array has the wrong length");
        }
        if (n_rows > 0) {
            input.out       = const_cast<Napi::Float32Array &>(out).Data();
            input.out_array = Napi::Reference<Napi::Float32Array>::New(out, 1);
        }
    }
    if (info[4].ToBoolean()) {
        input.draw = own.draw->current;
    }
    input.n_decode   = info[5].As<Napi::Number>().Uint32Value();
    input.n_expected = info[6].As<Napi::Number>().Uint32Value();

    input.n_draft_max = info[7].As<Napi::Number>().Uint32Value();
    if (input.n_draft_max > 0) {
        input.drafter = own.draw->drafter;
    }

    return thread->submit(std::make_unique<decode_job>(info.Env(), std::move(input), state, own.trace));
}

Napi::Value context_object::step(const Napi::CallbackInfo & info) {
    const std::vector<int32_t> seq_ids = get_int32s(info[0]);
    const std::vector<int32_t> tokens  = get_int32s(info[1]);

    std::vector<step_row> rows;
    for (size_t i = 0; i < seq_ids.size(); ++i) {
        rows.push_back({ seq_ids[i], tokens.at(i), sequences[seq_ids[i]].draw->current });
    }
    return thread->submit(std::make_unique<step_job>(info.Env(), std::move(rows), state));
}

Napi::Value context_object::progress(const Napi::CallbackInfo & info) {
    if (state->running_seq.load(std::memory_order_relaxed) != sequence_of(info)) {
        return Napi::Number::New(info.Env(), 0.0);
    }
    const double done     = (double) state->n_nodes_done.load(std::memory_order_relaxed);
    const double expected = (double) state->n_nodes_expected.load(std::memory_order_relaxed);

    return Napi::Number::New(info.Env(), expected > 0.0 ? std::min(done / expected, 1.0) : 0.0);
}

Napi::Value context_object::abort(const Napi::CallbackInfo & info) {
    thread->abort(sequence_of(info));
    return info.Env().Undefined();
}

Napi::Value context_object::forget(const Napi::CallbackInfo & info) {
    const int32_t from = info[1].As<Napi::Number>().Int32Value();
    const int32_t to   = info[2].As<Napi::Number>().Int32Value();

    return thread->submit(std::make_unique<forget_job>(info.Env(), state, sequence_of(info), from, to));
}

Napi::Value context_object::fork(const Napi::CallbackInfo & info) {
    const llama_seq_id source = info[1].As<Napi::Number>().Int32Value();
    const int32_t      n      = info[2].As<Napi::Number>().Int32Value();

    return thread->submit(std::make_unique<fork_job>(info.Env(), state, sequence_of(info), source, n));
}

Napi::Value context_object::state_size(const Napi::CallbackInfo & info) {
    return thread->submit(std::make_unique<state_size_job>(info.Env(), state, sequence_of(info)));
}

Napi::Value context_object::save(const Napi::CallbackInfo & info) {
    const Napi::Uint8Array note = info[1].As<Napi::Uint8Array>();

    return thread->submit(std::make_unique<save_job>(info.Env(), state, sequence_of(info),
        std::vector<uint8_t>(note.Data(), note.Data() + note.ElementLength())));
}

Napi::Value context_object::restore(const Napi::CallbackInfo & info) {
    return thread->submit(
        std::make_unique<restore_job>(info.Env(), state, sequence_of(info), info[1].As<Napi::Uint8Array>()));
}

Napi::Value context_object::piece(const Napi::CallbackInfo & info) {
    const llama_token token = info[0].As<Napi::Number>().Int32Value();
    const bool special = info[1].ToBoolean();
    const std::string bytes = or_throw(info.Env(), [&] { return vocab_piece(vocab(info.Env()), token, special); });
    return Napi::Buffer<char>::Copy(info.Env(), bytes.data(), bytes.size());
}

Napi::Value context_object::is_eog(const Napi::CallbackInfo & info) {
    const llama_vocab * v = vocab(info.Env());
    const llama_token token = info[0].As<Napi::Number>().Int32Value();
    return Napi::Boolean::New(info.Env(), vocab_is_valid(v, token) && llama_vocab_is_eog(v, token));
}

Napi::Value context_object::take_trace(const Napi::CallbackInfo & info) {
    const Napi::Env env = info.Env();

    const std::shared_ptr<trace_ptr> trace = sequences[sequence_of(info)].trace;

    const trace_ptr entries = std::move(*trace);
    trace->reset();

    Napi::Array array = Napi::Array::New(env);
    if (!entries) {
        return array;
    }

    for (uint32_t i = 0; i < entries->size(); ++i) {
        const h2o_trace & e = (*entries)[i].entry;

        const size_t n_mem   = (size_t) e.n_mem   * e.n_heads * e.n_sets;
        const size_t n_chunk = (size_t) e.n_chunk * e.n_heads;

        Napi::Object object = Napi::Object::New(env);
        object.Set("layer",      Napi::Number::New(env, e.il));
        object.Set("pos",        Napi::Number::New(env, e.pos));
        object.Set("nChunk",     Napi::Number::New(env, e.n_chunk));
        object.Set("nHeads",     Napi::Number::New(env, e.n_heads));
        object.Set("nNear",      Napi::Number::New(env, e.n_near));
        object.Set("nSets",      Napi::Number::New(env, e.n_sets));
        object.Set("nMem",       Napi::Number::New(env, e.n_mem));
        object.Set("order",      make_array<Napi::Int32Array>  (env, e.order,       e.order       ? n_chunk : 0));
        object.Set("memPos",     make_array<Napi::Int32Array>  (env, e.mem_pos,     n_mem));
        object.Set("memScore",   make_array<Napi::Float32Array>(env, e.mem_score,   e.mem_score   ? n_mem   : 0));
        object.Set("chunkScore", make_array<Napi::Float32Array>(env, e.chunk_score, e.chunk_score ? n_chunk : 0));
        if (e.mass) {
            object.Set("mass", make_array<Napi::Float32Array>(env, e.mass, trace_n_mass(e)));
        }
        array.Set(i, object);
    }

    return array;
}

Napi::Value context_object::dispose(const Napi::CallbackInfo & info) {
    is_disposed = true;

    thread->abort();
    sequences.clear();
    report_freed(info.Env());

    if (!thread->lost().empty()) {
        const auto nothing_to_free = Napi::Promise::Deferred::New(info.Env());
        nothing_to_free.Resolve(info.Env().Undefined());
        return nothing_to_free.Promise();
    }

    return thread->submit_last(std::make_unique<free_job>(info.Env(), state));
}

} // namespace addon
