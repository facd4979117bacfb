// Positions of several dimensions (M-RoPE). Text has one position per token. An image has embeddings
// for input and one position in time for all of its tokens, so that the cells behind it hold no
// longer the positions of their own numbers: what follows is dense, until the image is removed.

#include "testing.h"
#include "ways.h"

#include <algorithm>
#include <cmath>

static std::vector<float> image_embeddings(int n_tokens, int n_embd) {
    test_random random;

    std::vector<float> res(n_tokens*n_embd);
    for (float & x : res) {
        x = random.uniform(-1.0f, 1.0f);
    }
    return res;
}

// n_rows*n_cols tokens at the end of the context; returns the position of what follows
static llama_pos decode_image(test_context & ctx, int n_rows, int n_cols) {
    const int n   = n_rows*n_cols;
    const int pos = ctx.n_pos();

    std::vector<float>     embd = image_embeddings(n, ctx.model.n_embd);
    std::vector<llama_pos> positions(4*n); // [4][n]: time, row, column, nothing
    for (int i = 0; i < n; ++i) {
        positions[      i] = pos;
        positions[  n + i] = pos + i/n_cols;
        positions[2*n + i] = pos + i%n_cols;
    }

    llama_seq_id               seq = 0;
    std::vector<llama_seq_id*> seq_ids(n, &seq);
    std::vector<int32_t>       n_seq_ids(n, 1);
    std::vector<int8_t>        logits(n, 0);

    llama_batch batch = { n, nullptr, embd.data(), positions.data(), n_seq_ids.data(), seq_ids.data(), logits.data() };
    CHECK(llama_decode(ctx.get(), batch) == 0);

    const bool is_off = h2o_get_info(ctx.get()).reason == H2O_REASON_OFF;
    CHECK(ctx.call().path   == H2O_PATH_DENSE);
    CHECK(ctx.call().reason == (is_off ? H2O_REASON_OFF : H2O_REASON_EMBEDDING_INPUT));

    return pos + std::max(n_rows, n_cols);
}

static void test_image(const tiny_model & model, test_context_params params, int n_rows, int n_cols) {
    params.capture = false;

    const auto before = tiny_prompt(3*params.n_chunk + 5, 1);
    const auto after  = tiny_prompt(2*params.n_chunk + 3, 2);

    test_context ctx(model, params);
    ctx.decode(before);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    const llama_pos pos_image = ctx.n_pos();
    ctx.decode_at(after, decode_image(ctx, n_rows, n_cols));
    CHECK(ctx.call().path   == H2O_PATH_DENSE);
    CHECK(ctx.call().reason == H2O_REASON_KV_NOT_CONTIGUOUS);

    for (const float x : ctx.logits()) {
        CHECK(std::isfinite(x));
    }

    // without the image it is text again, as if there had never been one
    ctx.truncate(pos_image);
    ctx.decode(after);
    CHECK(ctx.call().path == H2O_PATH_SPARSE);

    test_context text(model, params);
    text.decode(before);
    text.decode(after);
    CHECK(ctx.logits() == text.logits());
}

// an image first: no sparse call before it, and stock's bits with stock's attention; the exact kernel sees what the mask shows
static void test_image_first(const tiny_model & model, test_context_params params) {
    params.capture = false;

    const auto tokens = tiny_prompt(3*params.n_chunk + 5, 1);

    enum { OFF, STOCK, EXACT, N_WAYS };

    std::vector<float> logits[N_WAYS];
    for (const int way : { OFF, STOCK, EXACT }) {
        params.upstream_products = way == STOCK;

        test_context ctx(model, way == OFF ? params.off() : params);
        ctx.decode_at(tokens, decode_image(ctx, 3, 4));
        logits[way] = ctx.logits();
        CHECK(ctx.call().reason == (way == OFF ? H2O_REASON_OFF : H2O_REASON_KV_NOT_CONTIGUOUS));
    }
    CHECK(logits[OFF] == logits[STOCK]);
    CHECK(nmse(logits[OFF], logits[EXACT]) < 1e-9);
}

static const suite cases("mrope", [](suite & s) {
    tiny_model_params shape;
    shape.arch = "qwen3vl";

    for (const auto & [n_rows, n_cols] : { std::pair(3, 4), std::pair(4, 4) }) {
        const auto run = [rows = n_rows, cols = n_cols](const tiny_model & model, const test_context_params & params) {
            test_image(model, params, rows, cols);
        };
        add_in_ways(s, "an image of " + std::to_string(n_rows) + " x " + std::to_string(n_cols), run, shape);
    }
    add_in_ways(s, "an image first", test_image_first, shape);
});
