// The tensors that H2O keeps on the devices beside K and V, by layer and by stream of the cache: in three copies, of which
// one holds the state and the graphs of a call write the other two in turns; in one, as indexes of the keys. And in one
// for all streams, as working space of a call.

#pragma once

#include "h2o-policy.h"

#include "ggml-cpp.h"

#include <map>
#include <utility>

struct h2o_store_layer {
    int32_t                      il;   // the model's layer id
    ggml_backend_buffer_type_t   buft; // where the layer's cache is
    ggml_backend_buffer_type_t   buft_index;
    std::vector<h2o_tensor_spec> kept;
    std::vector<h2o_tensor_spec> working;
    std::vector<h2o_tensor_spec> index;
    std::vector<h2o_tensor_spec> signs; // one, or none: the index of sparse decoding, in the host's memory
};

class h2o_store {
public:
    static constexpr int32_t n_copies = 3;

    // no_alloc: measure only, the buffers are dummies
    // throws std::runtime_error if there is not enough memory
    h2o_store(const std::vector<h2o_store_layer> & layers, uint32_t n_stream, bool no_alloc);

    const h2o_tensors & kept(int32_t il, int32_t stream, int32_t copy) const {
        return layers.at(il).streams.at(stream).kept.at(copy);
    }
    const h2o_tensors & index  (int32_t il, int32_t stream) const { return layers.at(il).streams.at(stream).index; }
    const h2o_tensors & working(int32_t il)                 const { return layers.at(il).working; }

    // null where the layer has none
    ggml_tensor * signs(int32_t il, int32_t stream) const {
        const auto it = layers.find(il);
        if (it == layers.end() || it->second.streams[stream].signs.empty()) {
            return nullptr;
        }
        return it->second.streams[stream].signs.front();
    }

    // one copy of one stream to one of another; false, and nothing done, where graphs that run may still write it
    bool copy_kept(int32_t stream_src, int32_t copy_src, int32_t stream_dst, int32_t copy_dst) const;

    bool has_signs() const;

    bool has_layer(int32_t il) const { return layers.count(il); }

    // all layers, in order of their ids
    std::vector<int32_t> layer_ids() const;

    // bytes
    size_t size_kept()    const; // all copies of all streams
    size_t size_copy()    const; // one of them
    size_t size_working() const;
    size_t size_index()   const; // both, of all streams

    void add_to_breakdown(std::map<ggml_backend_buffer_type_t, size_t> & sizes) const;

private:
    struct layer_of_stream {
        std::vector<h2o_tensors> kept; // by copy
        h2o_tensors              index;
        h2o_tensors              signs;
    };

    struct layer {
        std::vector<layer_of_stream> streams;
        h2o_tensors                  working;
    };

    const uint32_t n_stream;
    const bool     no_alloc;

    std::map<int32_t, layer> layers;

    std::vector<std::pair<ggml_context_ptr, ggml_backend_buffer_ptr>> bufs;
};
