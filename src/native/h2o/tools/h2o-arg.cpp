#include "h2o-arg.h"

#include "arg.h"
#include "h2o-tools.h"

static std::string h2o_default(const std::string & value) {
    return " (default: " + value + ")";
}

std::vector<common_arg> h2o_args(const common_params & params) {
    std::vector<common_arg> args;

    args.push_back(common_arg(
        {"--h2o-local"}, "N",
        "H2O sparse prefill: each chunk of a prompt (-ub tokens) attends to itself, to the last N positions before it "
        "and to the heavy ones; N = 0 for both turns it off" + h2o_default(h2o_defaults_text(&h2o_policy_traits::n_local)),
        [](common_params & params, const std::string & value) {
            params.h2o.n_local = h2o_parse_count(value);
        }
    ).set_env("LLAMA_ARG_H2O_LOCAL"));

    args.push_back(common_arg(
        {"--h2o-heavy"}, "N",
        "H2O sparse prefill: N more of the earlier positions at most, chosen per layer and head; by 'query' the default "
        "grows with the prompt" + h2o_default(h2o_defaults_text(&h2o_policy_traits::n_heavy)),
        [](common_params & params, const std::string & value) {
            params.h2o.n_heavy = h2o_parse_count(value);
        }
    ).set_env("LLAMA_ARG_H2O_HEAVY"));

    args.push_back(common_arg(
        {"--h2o-schedule"}, "{single-pass,two-pass}",
        "H2O sparse prefill: one pass over the network per logical batch (-b), or one for the attention inside all "
        "chunks and a second one chunk by chunk" + h2o_default(h2o_schedule_name(params.h2o.schedule)),
        [](common_params & params, const std::string & value) {
            params.h2o.schedule = h2o_parse_schedule(value);
        }
    ).set_env("LLAMA_ARG_H2O_SCHEDULE"));

    args.push_back(common_arg(
        {"--h2o-select"}, "NAME",
        "H2O sparse prefill: what chooses the heavy positions: " + h2o_policies_text(", ", true)
        + h2o_default(h2o_default_policy_text()),
        [](common_params & params, const std::string & value) {
            params.h2o.policy = h2o_parse_policy(value);
        }
    ).set_env("LLAMA_ARG_H2O_SELECT"));

    // who cuts prompts where their tails begin
    args.push_back(common_arg(
        {"--h2o-dense-tail"}, "N",
        "H2O sparse prefill: the last N tokens of the prompt attend to all of it, as a question there should"
        + h2o_default(h2o_defaults_text(&h2o_policy_traits::n_dense_tail)),
        [](common_params & params, const std::string & value) {
            params.h2o.n_dense_tail = h2o_parse_count(value);
        }
    ).set_examples({LLAMA_EXAMPLE_COMPLETION, LLAMA_EXAMPLE_SERVER, LLAMA_EXAMPLE_CLI}).set_env("LLAMA_ARG_H2O_DENSE_TAIL"));

    args.push_back(common_arg(
        {"--h2o-decode"}, "N",
        "H2O sparse decoding: each query head chooses N keys of the cache for a token, read with the last 256 and more; auto = as "
        "many as stay near to all keys, 0 = all keys" + h2o_default("0"),
        [](common_params & params, const std::string & value) {
            params.h2o.n_decode = value == "auto" ? H2O_AUTO : h2o_parse_count(value);
        }
    ).set_env("LLAMA_ARG_H2O_DECODE"));

    args.push_back(common_arg(
        {"--h2o-upstream-products"},
        "linear layers by llama.cpp's own matrix products and decoding by its own attention: with H2O off the logits "
        "are those of an unpatched build",
        [](common_params & params) {
            params.h2o.upstream_products = true;
        }
    ).set_env("LLAMA_ARG_H2O_UPSTREAM_PRODUCTS"));

    return args;
}
