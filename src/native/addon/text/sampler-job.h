// Makes the sampler of a generation: a grammar is parsed, and DRY reads the whole vocabulary, off the JavaScript
// thread.

#pragma once

#include "drafts.h"
#include "sampler.h"
#include "model/model-load.h"
#include "runtime/job.h"

namespace addon {

// what a sequence draws with; JavaScript thread only
struct sampler_slot {
    std::shared_ptr<sampler> current;
    std::shared_ptr<drafts>  drafter; // may be null
};

// Resolves with undefined, when `slot` holds the sampler, and `drafter`
class sampler_job : public job {
public:
    sampler_job(Napi::Env env, model_ptr model, sampler_options options, std::vector<llama_token> past,
        std::shared_ptr<drafts> drafter, std::shared_ptr<sampler_slot> slot, int32_t group);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    model_ptr                     model;
    sampler_options               options;
    std::vector<llama_token>      past;
    std::shared_ptr<drafts>       drafter;
    std::shared_ptr<sampler_slot> slot;
    std::shared_ptr<sampler>      made;
};

} // namespace addon
