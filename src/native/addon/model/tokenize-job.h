// A text to tokens, off the JavaScript thread; ends early when it is aborted.

#pragma once

#include "model-load.h"
#include "vocab.h"
#include "runtime/job.h"

#include <napi.h>

#include <string>
#include <vector>

namespace addon {

// Resolves with an Int32Array
class tokenize_job : public job {
public:
    tokenize_job(Napi::Env env, model_ptr model, std::string text, tokenize_options options, int32_t group = 0);

protected:
    void        run() override;
    Napi::Value result(Napi::Env env) override;

private:
    model_ptr                model;
    std::string              text;
    tokenize_options         options;
    std::vector<llama_token> tokens;
};

} // namespace addon
