#include "test-context.h"

#include "testing.h"

#include "llama-kv-cache.h"

#include <algorithm>
#include <cstdlib>

test_context_params test_context_params::off() const {
    test_context_params res = *this;
    res.n_local = 0;
    res.n_heavy = 0;
    return res;
}

test_context_params test_context_params::small() const {
    test_context_params res = *this;
    res.n_ctx   = 1024;
    res.n_batch = 512;
    res.n_chunk = 32;
    return res;
}

int test_context_params::n_inherited(int pos, bool remembers) const {
    return policy == H2O_POLICY_QUERY || remembers ? std::min(pos, n_local + n_heavy) : 0;
}

test_context_params test_votes() {
    test_context_params res = test_context_params().small();
    res.policy = H2O_POLICY_VOTES;
    return res;
}

void test_set_env(const char * name, const char * value) {
#ifdef _WIN32
    _putenv_s(name, value ? value : "");
#else
    value ? setenv(name, value, 1) : unsetenv(name);
#endif
}

test_context::test_context(const tiny_model & model, const test_context_params & params) : model(model.params) {
    llama_context_params cparams = llama_context_default_params();

    cparams.n_ctx           = params.unified ? params.n_ctx : params.n_ctx*params.n_seq;
    cparams.n_seq_max       = params.n_seq;
    cparams.kv_unified      = params.unified;
    cparams.n_batch         = params.n_batch;
    cparams.n_ubatch        = params.n_chunk;
    cparams.n_rs_seq        = params.n_rs_seq;
    cparams.n_threads       = params.n_threads;
    cparams.n_threads_batch = params.n_threads;
    cparams.swa_full        = params.swa_full;
    cparams.flash_attn_type = params.flash_attn ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    cparams.type_k          = params.type_kv;
    cparams.type_v          = params.type_kv;
    h2o_params h2o = h2o_default_params();
    h2o.n_local  = params.n_local;
    h2o.n_heavy  = params.n_heavy;
    h2o.schedule = params.schedule;
    h2o.policy   = params.policy;
    h2o.trace    = H2O_TRACE_SETS;
    h2o.n_decode = params.n_decode;
    h2o.upstream_products = params.upstream_products;
    cparams.h2o = &h2o;

    if (params.capture) {
        cparams.cb_eval           = capture;
        cparams.cb_eval_user_data = this;
    }

    test_set_env("H2O_FUSED", params.fused ? nullptr : "0");
    ctx.reset(llama_init_from_model(model.model.get(), cparams));
    CHECK(ctx);

    const h2o_info info = h2o_get_info(ctx.get());
    CHECK(info.reason != H2O_REASON_NONE || (info.schedule == params.schedule && info.is_fused == params.fused));
}

bool test_context::capture(ggml_tensor * t, bool ask, void * user_data) {
    const std::string name = ggml_get_name(t);

    const auto is = [&](const char * prefix) { return name.rfind(prefix, 0) == 0; };

    // the last step of each: all of them have their name
    const bool wanted =
        ((is("Qcur-") || is("Kcur-")) && t->op == GGML_OP_ROPE) || (is("Vcur-") && t->op == GGML_OP_RESHAPE) || is("kqv_out-");

    if (!ask && wanted) {
        std::vector<float> & dst = ((test_context *) user_data)->captured[name];

        CHECK(t->type == GGML_TYPE_F32 && ggml_is_contiguous(t));
        const size_t n_prev = dst.size();
        dst.resize(n_prev + ggml_nelements(t));
        ggml_backend_tensor_get(t, dst.data() + n_prev, 0, ggml_nbytes(t));
    }
    return !ask || wanted;
}

void test_context::decode(const std::vector<llama_token> & tokens, llama_seq_id seq_id) {
    const int pos = n_pos(seq_id);

    decode_at(tokens, pos, seq_id);

    CHECK(call().n_tokens == (int) tokens.size() && call().pos == pos);
}

void test_context::decode_aborted(std::vector<llama_token> tokens, int n_nodes) {
    const int pos = n_pos();

    test_abort_after soon = { n_nodes };
    llama_set_abort_callback(ctx.get(), test_abort_after::is_over, &soon);
    const int status = llama_decode(ctx.get(), llama_batch_get_one(tokens.data(), tokens.size()));
    llama_set_abort_callback(ctx.get(), nullptr, nullptr);

    CHECK(status == 2 && n_pos() == pos);
}

void test_context::decode_at(const std::vector<llama_token> & tokens, llama_pos pos, llama_seq_id seq_id) {
    CHECK(try_decode_at({ { seq_id, tokens } }, { pos }) == 0);
}

int test_context::try_decode(const std::vector<test_run> & runs) {
    std::vector<llama_pos> pos;
    for (const test_run & run : runs) {
        pos.push_back(n_pos(run.seq_id));
    }
    return try_decode_at(runs, pos);
}

int test_context::try_decode_at(const std::vector<test_run> & runs, const std::vector<llama_pos> & pos) {
    captured.clear();

    size_t n_tokens = 0;
    for (const test_run & run : runs) {
        n_tokens += run.tokens.size();
    }
    llama_batch batch = llama_batch_init(n_tokens, 0, 1);
    for (size_t r = 0; r < runs.size(); ++r) {
        for (size_t i = 0; i < runs[r].tokens.size(); ++i) {
            const int32_t j = batch.n_tokens++;

            batch.token   [j]    = runs[r].tokens[i];
            batch.pos     [j]    = pos[r] + i;
            batch.n_seq_id[j]    = 1;
            batch.seq_id  [j][0] = runs[r].seq_id;
            batch.logits  [j]    = true;
        }
    }
    const int status = llama_decode(ctx.get(), batch);
    llama_batch_free(batch);
    return status;
}

h2o_call test_context::call() const {
    h2o_call res;
    CHECK(h2o_get_last_call(ctx.get(), &res));
    return res;
}

std::vector<float> test_context::logits() const {
    const float * data = llama_get_logits(ctx.get());

    return { data, data + (size_t) n_tokens()*model.n_vocab };
}

std::vector<test_trace> test_context::trace() const {
    std::vector<test_trace> res;

    for (int i = 0; i < h2o_trace_n(ctx.get()); ++i) {
        h2o_trace t;
        CHECK(h2o_get_trace(ctx.get(), i, &t));

        const auto rows = [&](const auto * x, int n) {
            return x ? std::vector(x, x + t.n_heads*n) : std::vector<std::decay_t<decltype(*x)>>();
        };
        res.push_back({ t.il, t.pos, t.n_chunk, t.n_heads, t.n_mem,
            rows(t.order, t.n_chunk), { t.mem_pos, t.mem_pos + t.n_sets*t.n_heads*t.n_mem },
            rows(t.mem_score, t.n_mem), rows(t.chunk_score, t.n_chunk) });
    }
    return res;
}

std::vector<float> test_context::columns(const char * name, int il, int n_per_token, bool first_pass) const {
    const std::vector<float> & data = captured.at(name + std::to_string(il));
    const size_t n = (size_t) n_tokens()*n_per_token;

    CHECK(data.size() >= n);
    return first_pass ? std::vector<float>(data.begin(), data.begin() + n) : std::vector<float>(data.end() - n, data.end());
}

std::vector<float> test_context::q_intra(int il) const {
    return columns("Qcur-", il, model.n_head*model.d_head, true);
}

std::vector<float> test_context::q(int il) const {
    return columns("Qcur-", il, model.n_head*model.d_head);
}

test_kv test_context::k(int il) const {
    return columns("Kcur-", il, model.n_head_kv*model.d_head, true);
}

test_kv test_context::v(int il) const {
    return columns("Vcur-", il, model.n_head_kv*model.d_head, true);
}

std::vector<float> test_context::out(int il) const {
    return columns("kqv_out-", il, model.n_head*model.d_head);
}

int test_context::n_passes() const {
    return captured.at("kqv_out-0").size()/((size_t) n_tokens()*model.n_head*model.d_head);
}

llama_kv_cache & test_context::cache() const {
    auto * res = dynamic_cast<llama_kv_cache *>(memory());
    CHECK(res);
    return *res;
}

// view [d_head, n_head_kv, n], or [n, n_head_kv, d_head] if it is transposed
static test_kv read_cells(const ggml_tensor * view, bool is_transposed) {
    const ggml_tensor * storage = view->view_src;

    std::vector<uint8_t> data(ggml_nbytes(storage));
    ggml_backend_tensor_get(storage, data.data(), 0, data.size());

    const int64_t d_head = is_transposed ? view->ne[2] : view->ne[0];
    const int64_t n      = is_transposed ? view->ne[0] : view->ne[2];
    const size_t  nb_pos = is_transposed ? view->nb[0] : view->nb[2];

    // values that are neighbours in memory, and so have one quantisation block
    const int64_t n_run = is_transposed ? 1 : d_head;

    const auto to_float = ggml_get_type_traits(view->type)->to_float;

    test_kv res;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t ih = 0; ih < view->ne[1]; ++ih) {
            for (int64_t id = 0; id < d_head; id += n_run) {
                const uint8_t * src = data.data() + i*nb_pos + ih*view->nb[1] + (is_transposed ? id*view->nb[2] : 0);

                const size_t i_dst = res.size();
                res.resize(i_dst + n_run);
                if (view->type == GGML_TYPE_F32) {
                    std::copy_n((const float *) src, n_run, res.begin() + i_dst);
                } else {
                    to_float(src, res.data() + i_dst, n_run);
                }
            }
        }
    }
    return res;
}

static llama_kv_cache::slot_info first_stream() {
    llama_kv_cache::slot_info res;
    res.s0 = 0;
    res.s1 = 0;
    return res;
}

test_kv test_context::k_cache(int il, int n) const {
    ggml_context_ptr views { ggml_init({ ggml_tensor_overhead(), nullptr, true }) };

    return read_cells(cache().get_k(views.get(), il, n, first_stream()), false);
}

test_kv test_context::v_cache(int il, int n) const {
    ggml_context_ptr views { ggml_init({ ggml_tensor_overhead(), nullptr, true }) };

    const ggml_tensor * v = cache().get_v(views.get(), il, n, first_stream());

    return read_cells(v, v->nb[1] > v->nb[2]);
}

int test_context::n_pos(llama_seq_id seq_id) const {
    return llama_memory_seq_pos_max(memory(), seq_id) + 1;
}

void test_context::truncate(int pos, llama_seq_id seq_id) {
    CHECK(llama_memory_seq_rm(memory(), seq_id, pos, -1));
}

void test_context::clear() {
    llama_memory_clear(memory(), true);
}

std::vector<uint8_t> test_context::save(llama_seq_id seq_id) const {
    std::vector<uint8_t> res(llama_state_seq_get_size(ctx.get(), seq_id));
    CHECK(llama_state_seq_get_data(ctx.get(), res.data(), res.size(), seq_id) == res.size());
    return res;
}

void test_context::restore(const std::vector<uint8_t> & state, llama_seq_id seq_id) {
    CHECK(llama_state_seq_set_data(ctx.get(), state.data(), state.size(), seq_id) == state.size());
}
