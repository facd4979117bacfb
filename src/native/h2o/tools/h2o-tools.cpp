#include "h2o-tools.h"

#include "log.h"

#include <algorithm>
#include <stdexcept>

uint32_t h2o_parse_count(const std::string & value) {
    const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;

    // 9 digits always fit
    if (!is_number || value.size() > 9) {
        throw std::invalid_argument("expected a number of positions from 0 to 999999999, got '" + value + "'");
    }
    return std::stoul(value);
}

h2o_schedule h2o_parse_schedule(const std::string & value) {
    for (const auto schedule : { H2O_SCHEDULE_SINGLE_PASS, H2O_SCHEDULE_TWO_PASS }) {
        if (value == h2o_schedule_name(schedule)) {
            return schedule;
        }
    }
    throw std::invalid_argument("expected 'single-pass' or 'two-pass', got '" + value + "'");
}

h2o_policy_type h2o_parse_policy(const std::string & value) {
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        if (value == policy->name) {
            return policy->type;
        }
    }
    throw std::invalid_argument("expected one of " + h2o_policies_text(", ") + ", got '" + value + "'");
}

std::string h2o_policies_text(const char * separator, bool with_about) {
    std::string res;
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        res += i == 0 ? "" : separator;
        res += with_about ? std::string(policy->name) + " (" + policy->about + ")" : policy->name;
    }
    return res;
}

std::string h2o_defaults_text(uint32_t h2o_policy_traits::* count) {
    std::string res;
    for (int i = 0; const h2o_policy_traits * policy = h2o_get_policy(i); ++i) {
        const std::string value = std::to_string(policy->*count);

        res += i == 0 ? value : ", " + value + " with " + policy->name;
    }
    return res;
}

std::string h2o_default_policy_text() {
    h2o_params two_pass = h2o_default_params();
    two_pass.schedule = H2O_SCHEDULE_TWO_PASS;

    const h2o_policy_type any = h2o_resolve_params(h2o_default_params(), 0, 1).policy;
    const h2o_policy_type two = h2o_resolve_params(two_pass, 0, 1).policy;

    return std::string(h2o_policy_name(any)) + (two == any ? "" : std::string(", ") + h2o_policy_name(two) + " with two-pass");
}

bool h2o_ends_call(const llama_context * ctx, const h2o_params & params, int n_call, int n_left) {
    const int n_tail = h2o_resolve_params(params, 0, 1).n_dense_tail;

    // asked for every token of a prompt
    if (n_left == 0 || n_left > n_tail) {
        return false;
    }

    const h2o_info info    = h2o_get_info(ctx);
    const int      n_chunk = info.n_chunk;

    if (info.reason != H2O_REASON_NONE || n_call + n_left <= n_chunk) {
        return false;
    }

    // where the tail begins, and then after every chunk, which alone is dense
    return n_left == n_tail || n_call >= n_chunk;
}

// shown unless -lv 0 is given: llama-cli hides everything but errors, and whoever gets less than full attention is
// told. flushed, because a process may end before the thread of the log has written what it was given
static void h2o_log_line(const std::string & text) {
    LOG_INFV(LOG_LEVEL_ERROR, "h2o: %s\n", text.c_str());
    common_log_flush(common_log_main());
}

static std::string h2o_budget_text(uint32_t n_local, uint32_t n_heavy) {
    return "local = " + std::to_string(n_local) + ", heavy = " + std::to_string(n_heavy);
}

void h2o_log_start(const llama_context * ctx, const llama_context_params & cparams) {
    const h2o_params asked = h2o_resolve_params(cparams.h2o ? *cparams.h2o : h2o_default_params(), 0, 1);
    if (asked.n_local + asked.n_heavy == 0) {
        return;
    }

    const h2o_info    info     = h2o_get_info(ctx);
    const std::string turn_off = " (--h2o-local 0 --h2o-heavy 0 turns it off)";

    if (info.reason != H2O_REASON_NONE) {
        h2o_log_line("asked for (" + h2o_budget_text(asked.n_local, asked.n_heavy) +
            "), but no prompt of this context can be sparse: " + h2o_reason_name(info.reason) + turn_off);
        return;
    }

    h2o_log_line("prompts of more than " + std::to_string(info.n_chunk) + " tokens (-ub) are prefilled sparsely: " +
        h2o_budget_text(info.n_local, info.n_heavy) + ", schedule = " + h2o_schedule_name(info.schedule) +
        ", select = " + h2o_policy_name(info.policy) + turn_off);

    if (cparams.kv_unified && cparams.n_seq_max > 1) {
        h2o_log_line("the sequences share one cache: a prompt is sparse while it is alone there; -np N without -kvu gives each "
            "its own");
    }
}

static std::string h2o_count_text(const h2o_count & count) {
    return std::to_string(count.n_calls) + (count.n_calls == 1 ? " call, " : " calls, ") +
        std::to_string(count.n_tokens) + (count.n_tokens == 1 ? " token" : " tokens");
}

std::string h2o_calls_text(const llama_context * ctx) {
    bool worth_it = false;

    const h2o_count sparse  = h2o_get_count(ctx, H2O_REASON_NONE);
    const int64_t   n_chunk = h2o_get_info(ctx).n_chunk;

    std::string text = std::string(h2o_path_name(H2O_PATH_SPARSE)) + " (" + h2o_count_text(sparse) + ")";

    for (int i = H2O_REASON_NONE; i < H2O_REASON_COUNT; i++) {
        const auto      reason = (h2o_reason) i;
        const h2o_count count  = h2o_get_count(ctx, reason);
        if (count.n_calls == 0) {
            continue;
        }

        // off and short calls are what was asked for; calls that were short anyway were not refused
        const bool is_expected = reason == H2O_REASON_OFF || reason == H2O_REASON_ONE_CHUNK;
        const bool is_short    = count.n_tokens <= std::max(n_chunk, count.n_calls);
        worth_it = worth_it || reason == H2O_REASON_NONE || (!is_expected && !is_short);

        if (reason != H2O_REASON_NONE) {
            text += std::string(", ") + h2o_path_name(H2O_PATH_DENSE) + " " + h2o_reason_name(reason) + " (" + h2o_count_text(count) + ")";
        }
    }

    return worth_it ? text : "";
}

void h2o_log_end(const llama_context * ctx) {
    const std::string text = ctx ? h2o_calls_text(ctx) : "";
    if (!text.empty()) {
        h2o_log_line("calls by path and reason: " + text);
    }
}
