#include "h2o-store.h"

#include <algorithm>
#include <stdexcept>

h2o_store::h2o_store(const std::vector<h2o_store_layer> & specs, uint32_t n_stream, bool no_alloc) :
    n_stream(n_stream), no_alloc(no_alloc) {
    std::map<ggml_backend_buffer_type_t, size_t> n_tensors;
    for (const h2o_store_layer & spec : specs) {
        n_tensors[spec.buft]       += n_stream*n_copies*spec.kept.size() + spec.working.size();
        n_tensors[spec.buft_index] += n_stream*spec.index.size();
        n_tensors[ggml_backend_cpu_buffer_type()] += n_stream*spec.signs.size();
    }

    std::map<ggml_backend_buffer_type_t, ggml_context_ptr> ctxs;
    for (const auto & [buft, n] : n_tensors) {
        if (n > 0) {
            ctxs[buft].reset(ggml_init({ n*ggml_tensor_overhead(), nullptr, true }));
        }
    }

    for (const h2o_store_layer & spec : specs) {
        const auto make = [&](const std::vector<h2o_tensor_spec> & specs, ggml_backend_buffer_type_t buft) {
            h2o_tensors res;
            for (const h2o_tensor_spec & t : specs) {
                res.push_back(ggml_new_tensor_3d(ctxs[buft].get(), t.type, t.ne[0], t.ne[1], t.ne[2]));
                ggml_format_name(res.back(), "h2o_%s_l%d", t.name, spec.il);
            }
            return res;
        };

        layer & l = layers[spec.il];

        for (uint32_t s = 0; s < n_stream; ++s) {
            layer_of_stream & own = l.streams.emplace_back();

            for (int32_t i = 0; i < n_copies; ++i) {
                own.kept.push_back(make(spec.kept, spec.buft));
            }
            own.index = make(spec.index, spec.buft_index);
            own.signs = make(spec.signs, ggml_backend_cpu_buffer_type());
        }
        l.working = make(spec.working, spec.buft);
    }

    for (auto & [buft, ctx] : ctxs) {
        ggml_backend_buffer_ptr buf(no_alloc
            ? ggml_backend_buft_alloc_buffer(buft, 0)
            : ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), buft));
        if (!buf) {
            throw std::runtime_error("failed to allocate the H2O state buffers");
        }
        if (no_alloc) {
            for (ggml_tensor * t = ggml_get_first_tensor(ctx.get()); t; t = ggml_get_next_tensor(ctx.get(), t)) {
                t->buffer = buf.get();
            }
        }
        ggml_backend_buffer_clear(buf.get(), 0);
        bufs.emplace_back(std::move(ctx), std::move(buf));
    }
}

bool h2o_store::has_signs() const {
    return std::any_of(layers.begin(), layers.end(), [](const auto & it) { return !it.second.streams.front().signs.empty(); });
}

std::vector<int32_t> h2o_store::layer_ids() const {
    std::vector<int32_t> res;
    for (const auto & it : layers) {
        res.push_back(it.first);
    }
    return res;
}

bool h2o_store::copy_kept(int32_t stream_src, int32_t copy_src, int32_t stream_dst, int32_t copy_dst) const {
    for (const auto & [ctx, buf] : bufs) {
        if (size_copy() > 0 && !ggml_backend_buffer_is_host(buf.get())) {
            return false;
        }
    }
    for (const auto & it : layers) {
        const h2o_tensors & src = it.second.streams.at(stream_src).kept.at(copy_src);
        const h2o_tensors & dst = it.second.streams.at(stream_dst).kept.at(copy_dst);

        for (size_t i = 0; i < src.size(); ++i) {
            ggml_backend_tensor_copy(src[i], dst[i]);
        }
    }
    return true;
}

static size_t h2o_size(const h2o_tensors & tensors) {
    size_t res = 0;
    for (const ggml_tensor * t : tensors) {
        res += ggml_nbytes(t);
    }
    return res;
}

size_t h2o_store::size_copy() const {
    size_t res = 0;
    for (const auto & it : layers) {
        res += h2o_size(it.second.streams.front().kept.front());
    }
    return res;
}

size_t h2o_store::size_kept() const {
    return n_stream*n_copies*size_copy();
}

size_t h2o_store::size_working() const {
    size_t res = 0;
    for (const auto & it : layers) {
        res += h2o_size(it.second.working);
    }
    return res;
}

size_t h2o_store::size_index() const {
    size_t res = 0;
    for (const auto & it : layers) {
        const layer_of_stream & own = it.second.streams.front();

        res += n_stream*(h2o_size(own.index) + h2o_size(own.signs));
    }
    return res;
}

void h2o_store::add_to_breakdown(std::map<ggml_backend_buffer_type_t, size_t> & sizes) const {
    for (const auto & [ctx, buf] : bufs) {
        ggml_backend_buffer_type_t buft = ggml_backend_buffer_get_type(buf.get());

        sizes[buft] += no_alloc
            ? ggml_backend_alloc_ctx_tensors_from_buft_size(ctx.get(), buft)
            : ggml_backend_buffer_get_size(buf.get());
    }
}
