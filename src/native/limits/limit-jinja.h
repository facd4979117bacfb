// What a chat template may take. It comes with the file of a model: it may recurse and loop for ever, and double a
// string with each turn.
//
// Work is counted by the limit_work of the thread (limit-work.h), if it has one. How deep it may go holds everywhere. What
// fails here throws; llama.cpp's interpreter makes an error of the template of it.

#pragma once

#include "limit-work.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace jinja {
struct value_t;
struct func_args;
} // namespace jinja

// During its life, one level deeper
class limit_jinja_depth {
public:
    // a statement looks names up in a copy of all builtins
    static constexpr uint64_t n_units_statement = 4000;
    static constexpr uint64_t n_units_value     = 64; // of a list or an object that is followed

    explicit limit_jinja_depth(uint64_t n_units) {
        if (depth() >= 2000) {
            throw std::runtime_error("the template recurses too deeply");
        }
        limit_work_poll(n_units);
        ++depth();
    }

    ~limit_jinja_depth() { --depth(); }

    limit_jinja_depth(const limit_jinja_depth &) = delete;
    limit_jinja_depth & operator=(const limit_jinja_depth &) = delete;

private:
    static int & depth() {
        static thread_local int n = 0;
        return n;
    }
};

// memory of a value or a string
inline void limit_jinja_bytes(size_t n) {
    limit_work_poll(10*(uint64_t) n);
}

// before a builtin runs: some take time and memory that no other hook sees, and some would end the process
void limit_jinja_call(const std::string & name, const jinja::func_args & call);

// before an operator: both sides are copied
void limit_jinja_operands(const jinja::value_t & a, const jinja::value_t & b);

// before `part` is looked for in a text
void limit_jinja_find(const jinja::value_t & text, const jinja::value_t & part);

// before a variable gets a value: values that hold each other deeply cannot be followed, nor freed
void limit_jinja_assign(const std::shared_ptr<jinja::value_t> & val);

bool limit_jinja_divides(int64_t divisor, int64_t n);
