// jinja::statement::execute: how deep a chat template may recurse.
// A macro that calls itself for ever would end the process.

#pragma once

#include <stdexcept>

class h2o_jinja_depth {
public:
    h2o_jinja_depth() {
        if (depth() >= 2000) {
            throw std::runtime_error("the template recurses too deeply");
        }
        ++depth();
    }

    ~h2o_jinja_depth() { --depth(); }

    h2o_jinja_depth(const h2o_jinja_depth &) = delete;
    h2o_jinja_depth & operator=(const h2o_jinja_depth &) = delete;

private:
    static int & depth() {
        static thread_local int n = 0;
        return n;
    }
};
