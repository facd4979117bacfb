// The cases of test-backend-ops that are ours, on ggml-cuda: its kernels are run from their PTX by an interpreter (ptx).
//
//     cuda-ops [FILTER]        a regular expression over a case's variables
//
// Each case runs twice, in other orders of blocks and warps, the second time with a cache that begins where no vector of 16
// bytes does: both have to give the same bits. A line "FAIL ..." per case that is wrong or that has no kernel; ends with 1 if
// there is any.

#include "backend-case.h"

#include "tests/test-backend-ops-h2o.h"

#include "ggml-cuda.h"

#include <regex>

// every tensor in memory of its own and of the very size, so that what reads or writes past it is found; with the input
// that it held
static void place(ggml_context * ctx, ggml_backend_t backend, size_t shift_of_cache, std::vector<ggml_backend_buffer_ptr> & buffers) {
    ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(backend);

    for (ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        std::vector<uint8_t> held;
        if (t->data && t->op == GGML_OP_NONE) {
            held.resize(ggml_nbytes(t));
            ggml_backend_tensor_get(t, held.data(), 0, held.size());
        }

        t->buffer = nullptr;
        t->data   = nullptr;
        if (t->view_src) {
            CHECK(ggml_backend_view_init(t) == GGML_STATUS_SUCCESS);
            continue;
        }
        const size_t shift = t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_I32 ? 0 : shift_of_cache;

        buffers.emplace_back(ggml_backend_buft_alloc_buffer(type, ggml_backend_buft_get_alloc_size(type, t) + shift));
        ggml_backend_buffer_clear(buffers.back().get(), 0xff); // NaN

        char * begin = (char *) ggml_backend_buffer_get_base(buffers.back().get());
        CHECK(ggml_backend_tensor_alloc(buffers.back().get(), t, begin + shift) == GGML_STATUS_SUCCESS);
        if (!held.empty()) {
            ggml_backend_tensor_set(t, held.data(), 0, held.size());
        }
    }
}

// "": right
static std::string run(test_case & c, ggml_backend_t backend) {
    const ggml_context_ptr ctx(ggml_init({ 64*ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }));

    ggml_tensor * out = c.build_graph(ctx.get());
    ggml_cgraph * gf  = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(gf, out);

    if (!ggml_backend_supports_op(backend, out)) {
        return "no kernel";
    }
    std::vector<ggml_backend_buffer_ptr> buffers;
    std::vector<float>                   results[2];

    for (const int i : { 0, 1 }) {
        place(ctx.get(), backend, 2*i, buffers);
        if (i == 0) {
            c.initialize_tensors(ctx.get());
        }
        CHECK(ggml_backend_graph_compute(backend, gf) == GGML_STATUS_SUCCESS);
        results[i] = tensor_to_float(out);
    }
    const std::vector<float> & x = results[0];

    const double error = c.err(x.data(), x.data(), x.size());
    if (!(error <= c.max_nmse_err())) {
        return "error " + std::to_string(error) + " of " + std::to_string(c.max_nmse_err());
    }
    return memcmp(x.data(), results[1].data(), x.size()*sizeof(float)) == 0 ? "" : "other bits in another order, or from a moved cache";
}

int main(int argc, char ** argv) {
    ggml_backend_ptr backend(ggml_backend_cuda_init(0));

    std::vector<std::unique_ptr<test_case>> cases;
    h2o_add_test_cases(cases);

    const std::regex filter(argc > 1 ? argv[1] : "");

    int n       = 0;
    int n_wrong = 0;
    for (const auto & c : cases) {
        if (!std::regex_search(c->vars(), filter)) {
            continue;
        }
        const std::string wrong = run(*c, backend.get());
        if (!wrong.empty()) {
            printf("FAIL %s: %s\n", c->vars().c_str(), wrong.c_str());
        }
        n++;
        n_wrong += !wrong.empty();
    }
    printf("%d cases, %d wrong\n", n, n_wrong);
    return n > 0 && n_wrong == 0 ? 0 : 1;
}
