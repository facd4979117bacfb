// One token of several sequences in one llama_decode call, and the next one of each drawn. Sequences that share their cells
// read what they have in common once for all.
//
// The call counts as a whole, and ends before an abort of one sequence takes effect: its rows belong to others. What does
// not fit and what one sequence cannot draw fails for it alone.

#pragma once

#include "context-state.h"
#include "runtime/job.h"
#include "text/sampler.h"

#include <memory>
#include <optional>
#include <vector>

namespace addon {

struct step_row {
    llama_seq_id             seq_id;
    llama_token              token;
    std::shared_ptr<sampler> draw; // may be null
};

class step_job : public job {
public:
    // a group of its own: no sequence's abort ends it
    step_job(Napi::Env env, std::vector<step_row> rows, std::shared_ptr<context_state> state);

protected:
    bool        computes() const override { return true; }
    void        run() override;
    Napi::Value result(Napi::Env env) override; // NativeCall or { error } for each row

private:
    struct outcome {
        int32_t                position = 0;
        drawn_token            drawn;
        std::optional<failure> error;
    };

    // those that the context has room for; the others have an error of their own
    std::vector<size_t> find_rows_that_fit();

    int  decode(const std::vector<size_t> & fit);
    void draw(size_t i, int32_t i_output);

    std::vector<step_row>          rows;
    std::shared_ptr<context_state> state;
    std::vector<outcome>           outcomes;

    h2o_call call{};
    double   ms = 0.0;
};

} // namespace addon
