#include "sampler-job.h"

#include "runtime/failure.h"

namespace addon {

sampler_job::sampler_job(Napi::Env env, model_ptr model, sampler_options options, std::vector<llama_token> past,
        std::shared_ptr<drafts> drafter, std::shared_ptr<sampler_slot> slot, int32_t group) :
    job(env, group), model(std::move(model)), options(std::move(options)), past(std::move(past)), drafter(std::move(drafter)),
    slot(std::move(slot)) {}

void sampler_job::run() {
    limit_work             work = { &aborted(), n_sampler_work };
    const limit_work_scope scope(work);

    try {
        made = std::make_shared<sampler>(llama_model_get_vocab(model.get()), options, past);
    } catch (const limit_work_too_long & err) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", std::string("the grammar is refused: ") + err.what() +
            ": let it have fewer alternatives, and fewer repetitions in a row");
    }
}

Napi::Value sampler_job::result(Napi::Env env) {
    slot->current = made;
    slot->drafter = drafter;
    return env.Undefined();
}

} // namespace addon
