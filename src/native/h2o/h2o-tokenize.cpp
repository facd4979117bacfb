#include "h2o-tokenize.h"

static thread_local const std::atomic<bool> * h2o_tokenize_flag = nullptr;

h2o_tokenize_scope::h2o_tokenize_scope(const std::atomic<bool> & is_aborted) : outer(h2o_tokenize_flag) {
    h2o_tokenize_flag = &is_aborted;
}

h2o_tokenize_scope::~h2o_tokenize_scope() {
    h2o_tokenize_flag = outer;
}

void h2o_tokenize_poll() {
    if (h2o_tokenize_flag && h2o_tokenize_flag->load(std::memory_order_relaxed)) {
        throw h2o_tokenize_aborted();
    }
}
