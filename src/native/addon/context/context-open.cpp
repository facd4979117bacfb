#include "context-open.h"

#include "h2o-options.h"
#include "runtime/log.h"
#include "runtime/memory-limit.h"
#include "runtime/values.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace addon {

context_options context_options_from_js(const Napi::Object & object) {
    context_options o;

    o.n_ctx           = (uint32_t) get_number(object, "nCtx",          o.n_ctx);
    o.n_batch         = (uint32_t) get_number(object, "nBatch",        o.n_batch);
    o.n_ubatch        = (uint32_t) get_number(object, "nUbatch",       o.n_ubatch);
    o.n_seq           = (uint32_t) get_number(object, "nSeq",          o.n_seq);
    o.n_threads       = (int32_t)  get_number(object, "nThreads",      o.n_threads);
    o.n_threads_batch = (int32_t)  get_number(object, "nThreadsBatch", o.n_threads_batch);
    o.memory_limit    =            get_number(object, "memoryLimit",   o.memory_limit);
    o.flash_attn      = get_string(object, "flashAttn",  o.flash_attn);
    o.type_k          = get_string(object, "typeK",      o.type_k);
    o.type_v          = get_string(object, "typeV",      o.type_v);
    o.swa_full        = get_bool  (object, "swaFull",    o.swa_full);
    o.kv_unified      = get_bool  (object, "kvUnified",  o.kv_unified);
    o.embeddings      = get_bool  (object, "embeddings", o.embeddings);
    o.kv_offload      = get_bool  (object, "kvOffload",  o.kv_offload);
    o.h2o             = h2o_params_from_js(object.Get("h2o").As<Napi::Object>());
    o.h2o.upstream_products = get_bool(object, "upstreamProducts", o.h2o.upstream_products);
    o.rope            = rope_options_from_js(object.Get("rope").As<Napi::Object>());

    return o;
}

static ggml_type cache_type(const std::string & name) {
    static const std::array<ggml_type, 9> types = {
        GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16,   GGML_TYPE_Q8_0, GGML_TYPE_Q4_0,
        GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_1,
    };
    for (const ggml_type type : types) {
        if (name == ggml_type_name(type)) {
            return type;
        }
    }
    throw failure("ERR_H2O_INVALID_ARGUMENT", "unknown KV cache type", {{"type", name}});
}

static llama_flash_attn_type flash_attn_type(const std::string & name) {
    return name == "on" ? LLAMA_FLASH_ATTN_TYPE_ENABLED : name == "off" ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                                        : LLAMA_FLASH_ATTN_TYPE_AUTO;
}

// the size of one head of K or V, as far as the metadata says; 0 if it does not
static int64_t head_size(const llama_model * model, const char * key) {
    const int64_t given = atoll(model_arch_meta(model, key).c_str());
    if (given > 0) {
        return given;
    }
    const int32_t n_head = llama_model_n_head(model);
    return n_head > 0 ? llama_model_n_embd(model) / n_head : 0;
}

context_open_job::context_open_job(Napi::Env env, context_options options, std::shared_ptr<context_state> state) :
    job(env), options(std::move(options)), state(std::move(state)) {}

void context_open_job::check_model() const {
    const llama_model * model = state->model.get();

    if (llama_model_has_encoder(model) || !llama_model_has_decoder(model)) {
        throw failure("ERR_H2O_CONTEXT_CREATE", "the model has an encoder; only decoder models can be prefilled",
            {{"architecture", model_meta(model, "general.architecture")}});
    }
    if (llama_vocab_n_tokens(state->vocab()) <= 0) {
        throw failure("ERR_H2O_CONTEXT_CREATE", "the model has no vocabulary");
    }
    if (options.n_ctx == 0 && llama_model_n_ctx_train(model) <= 0) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the model names no training context; give nCtx");
    }
}

// on a host with overcommitment a cache that cannot fit is not refused: the process dies when it is cleared
void context_open_job::check_memory(const llama_context_params & params) const {
    if (options.on_gpu) {
        return;
    }
    const llama_model * model = state->model.get();

    // every cell costs some bookkeeping too, whatever the model is
    const double n_ctx = params.n_ctx > 0 ? params.n_ctx : llama_model_n_ctx_train(model);
    const double bytes = h2o_get_kv_size(model, &params) + n_ctx * 64.0;

    if (options.memory_limit > 0.0) {
        require_room("the KV cache", bytes, { options.memory_limit, "the machine" });
    }
    require_memory("the KV cache", bytes, bytes);
}

void context_open_job::check_cache_types(ggml_type type_k, ggml_type type_v) const {
    const llama_model * model = state->model.get();

    const struct { const char * name; ggml_type type; int64_t size; } sides[] = {
        { "typeK", type_k, head_size(model, "attention.key_length")   },
        { "typeV", type_v, head_size(model, "attention.value_length") },
    };

    for (const auto & side : sides) {
        if (side.size % ggml_blck_size(side.type) != 0) {
            throw failure("ERR_H2O_INVALID_ARGUMENT",
                std::string(side.name) + ": blocks of " + std::to_string(ggml_blck_size(side.type)) + " values (" +
                    ggml_type_name(side.type) + ") do not divide heads of " + std::to_string(side.size),
                {{"type", ggml_type_name(side.type)}, {"blockSize", (double) ggml_blck_size(side.type)},
                 {"headSize", (double) side.size}});
        }
    }

    if (ggml_is_quantized(type_v) && options.flash_attn == "off") {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "a quantized V cache needs flash attention",
            {{"type", ggml_type_name(type_v)}});
    }
}

// llama.cpp gives a cell with two names to nobody, however far behind a window it is: the memory that carries H2O takes the
// name away from those before it copies a sequence
void context_open_job::check_windows() const {
    if (options.kv_unified && !options.swa_full && llama_model_n_swa(state->model.get()) > 0 && info.reason != H2O_REASON_NONE) {
        throw failure("ERR_H2O_INVALID_ARGUMENT",
            "kvUnified: where H2O is off, sequences can share the cells of sliding windows with swaFull only",
            {{"reason", h2o_reason_name(info.reason)}});
    }
}

void context_open_job::run() {
    if (is_aborted()) {
        throw failure_interrupted(0);
    }

    const ggml_type type_k = cache_type(options.type_k);
    const ggml_type type_v = cache_type(options.type_v);

    check_model();
    check_cache_types(type_k, type_v);

    llama_context_params params = llama_context_default_params();

    params.n_ctx           = options.kv_unified ? options.n_ctx : options.n_ctx*options.n_seq;
    params.n_batch         = options.n_batch;
    params.n_ubatch        = options.n_ubatch;
    params.n_seq_max       = options.n_seq;
    params.kv_unified      = options.kv_unified;
    params.n_threads       = options.n_threads;
    params.n_threads_batch = options.n_threads_batch;
    params.flash_attn_type = flash_attn_type(options.flash_attn);
    params.type_k          = type_k;
    params.type_v          = type_v;
    params.swa_full        = options.swa_full;
    params.embeddings      = options.embeddings;
    params.offload_kqv     = options.kv_offload;
    params.h2o             = &options.h2o;

    check_memory(params);
    state->threads.start(std::max(options.n_threads, options.n_threads_batch));

    rope_apply(options.rope, params);

    params.abort_callback      = context_state::on_node;
    params.abort_callback_data = state.get();

    log_capture log;

    state->ctx = llama_init_from_model(state->model.get(), params);
    if (!state->ctx) {
        const bool memory = log.is_about_memory();
        throw failure(memory ? "ERR_H2O_CONTEXT_MEMORY" : "ERR_H2O_CONTEXT_CREATE",
            memory ? "there is not enough memory for the context" : "llama.cpp cannot make the context",
            {{"log", log.text()}});
    }

    state->fingerprint = rope_fingerprint(options.rope, state->model.get(), llama_n_ctx_seq(state->ctx), state->fingerprint);

    state->threads.attach(state->ctx);
    state->adapters.apply(state->ctx);

    state->memory = llama_get_memory(state->ctx);
    if (!state->memory) {
        throw failure("ERR_H2O_CONTEXT_CREATE", "the model keeps no memory of earlier tokens (an embedding model?)",
            {{"architecture", model_meta(state->model.get(), "general.architecture")}});
    }

    state->n_streams  = options.n_seq == 1 || options.kv_unified ? 0 : options.n_seq;
    state->embeddings = options.embeddings;
    state->type_k     = type_k;
    state->type_v     = type_v;
    state->trace      = options.h2o.trace;

    info = h2o_get_info(state->ctx);
    check_windows();
    cost = h2o_get_cost(state->ctx);
    for (int32_t il = 0; il < h2o_n_layers(state->ctx); ++il) {
        layers.push_back(h2o_get_layer(state->ctx, il));
    }

    if (!options.on_gpu) {
        // mapped by now, but not used before the first call
        require_memory("the context", 0, (double) (info.size_compute + info.size_intra));
    }
}

Napi::Value context_open_job::result(Napi::Env env) {
    const llama_context * ctx = state->ctx;

    state->external_bytes = (int64_t) (info.size_state + info.size_index + info.size_intra + info.size_kv + info.size_compute);
    Napi::MemoryManagement::AdjustExternalMemory(env, state->external_bytes);

    Napi::Object object = Napi::Object::New(env);

    // the longest single call: without a causal mask all of it has to be one physical batch
    const uint32_t n_call_max = state->causal ? llama_n_batch(ctx) : llama_n_ubatch(ctx);

    object.Set("nCtx",         Napi::Number::New(env, llama_n_ctx_seq(ctx)));
    object.Set("nBatch",       Napi::Number::New(env, llama_n_batch(ctx)));
    object.Set("nUbatch",      Napi::Number::New(env, llama_n_ubatch(ctx)));
    object.Set("nCallMax",     Napi::Number::New(env, n_call_max));
    object.Set("reason",       info.reason == H2O_REASON_NONE ? env.Null()
                                   : Napi::Value(Napi::String::New(env, h2o_reason_name(info.reason))));
    object.Set("recurrent",    Napi::Boolean::New(env, state->is_recurrent()));
    object.Set("schedule",     Napi::String::New(env, h2o_schedule_name(info.schedule)));
    object.Set("select",       Napi::String::New(env, h2o_policy_name(info.policy)));
    object.Set("chunk",        Napi::Number::New(env, info.n_chunk));
    object.Set("local",        Napi::Number::New(env, info.n_local));
    object.Set("heavy",        Napi::Number::New(env, info.n_heavy));
    object.Set("heavyGrows",   Napi::Boolean::New(env, info.heavy_grows));
    object.Set("group",        Napi::Number::New(env, info.n_group));
    object.Set("decode",       Napi::Number::New(env, info.n_decode));
    object.Set("decodeReason", info.decode_reason == H2O_REASON_NONE ? env.Null()
                                   : Napi::Value(Napi::String::New(env, h2o_reason_name(info.decode_reason))));
    object.Set("stateBytes",   Napi::Number::New(env, (double) info.size_state));
    object.Set("indexBytes",   Napi::Number::New(env, (double) info.size_index));
    object.Set("intraBytes",   Napi::Number::New(env, (double) info.size_intra));
    object.Set("kvBytes",      Napi::Number::New(env, (double) info.size_kv));
    object.Set("computeBytes", Napi::Number::New(env, (double) info.size_compute));
    object.Set("sparseBytes",  Napi::Number::New(env, (double) info.size_sparse));
    object.Set("sparseNodes",  Napi::Number::New(env, info.n_nodes));
    object.Set("onGpu",        Napi::Boolean::New(env, info.on_gpu));
    object.Set("linearFlops",  Napi::Number::New(env, cost.linear));
    object.Set("pairFlops",    Napi::Number::New(env, cost.pair));
    object.Set("windowPairFlops", Napi::Number::New(env, cost.pair_window));
    object.Set("window",       Napi::Number::New(env, cost.n_window));

    Napi::Array names = Napi::Array::New(env, layers.size());
    for (size_t il = 0; il < layers.size(); ++il) {
        names.Set((uint32_t) il, Napi::String::New(env, h2o_layer_name(layers[il])));
    }
    object.Set("layers", names);

    return object;
}

} // namespace addon
