#include "h2o-cost.h"

#include "h2o-record.h"

#include "llama-context.h"
#include "llama-model.h"

#include <cstring>

double h2o_linear_flops(ggml_cgraph * gf) {
    double res = 0.0;

    for (int i = 0; i < ggml_graph_n_nodes(gf); ++i) {
        const ggml_tensor * t = ggml_graph_node(gf, i);

        // by name: a scheduler puts copies in the place of weights that are on another device
        if ((t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_MUL_MAT_ID) && strstr(ggml_get_name(t->src[0]), ".weight")) {
            res += 2.0*t->src[0]->ne[0]*ggml_nelements(t);
        }
    }
    return res;
}

// of attention, per query and key
static double h2o_pair_flops(const llama_hparams & hparams, int32_t il) {
    return 2.0*hparams.n_head(il)*(hparams.n_embd_head_k(il) + hparams.n_embd_head_v(il));
}

const char * h2o_layer_name(h2o_layer_type type) {
    switch (type) {
        case H2O_LAYER_SPARSE:       return "sparse";
        case H2O_LAYER_DENSE:        return "dense";
        case H2O_LAYER_WINDOW:       return "window";
        case H2O_LAYER_RECURRENT:    return "recurrent";
        case H2O_LAYER_NO_ATTENTION: return "none";
    }
    return "none";
}

int32_t h2o_n_layers(const llama_context * ctx) {
    return ctx->get_model().hparams.n_layer();
}

h2o_layer_type h2o_get_layer(const llama_context * ctx, int32_t il) {
    const llama_hparams & hparams = ctx->get_model().hparams;

    if (ctx->h2o->layers.count(il)) {
        return H2O_LAYER_SPARSE;
    }
    if (il < 0 || il >= h2o_n_layers(ctx)) {
        return H2O_LAYER_NO_ATTENTION;
    }
    if (hparams.is_recr(il)) {
        return H2O_LAYER_RECURRENT;
    }
    if (hparams.n_head_kv(il) == 0) {
        return H2O_LAYER_NO_ATTENTION;
    }
    return hparams.is_swa(il) ? H2O_LAYER_WINDOW : H2O_LAYER_DENSE;
}

h2o_cost h2o_get_cost(const llama_context * ctx) {
    const llama_hparams & hparams = ctx->get_model().hparams;

    h2o_cost res = {};

    if (ctx->h2o->reason != H2O_REASON_NONE) {
        return res;
    }
    res.linear   = ctx->h2o->flops_linear;
    res.n_window = hparams.n_swa;

    for (int32_t il = 0; il < h2o_n_layers(ctx); ++il) {
        switch (h2o_get_layer(ctx, il)) {
            case H2O_LAYER_SPARSE: res.pair        += h2o_pair_flops(hparams, il); break;
            case H2O_LAYER_WINDOW: res.pair_window += h2o_pair_flops(hparams, il); break;
            default:               break;
        }
    }
    return res;
}
