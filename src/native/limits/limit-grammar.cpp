#include "limit-grammar.h"

#include <stdexcept>

// measured: an element of a stack is copied three times and compared often, one of a rule copied four times
static constexpr uint64_t n_units_stack         = 512;
static constexpr uint64_t n_units_stack_element = 128;
static constexpr uint64_t n_units_rule_element  = 320;
static constexpr uint64_t n_units_compare       = 16; // and one for each element, which may all be equal but the last
static constexpr uint64_t n_units_clone         = 5; // much for a look, as nobody can end the copy

void limit_grammar_symbol(size_t n_symbols, size_t n_name) {
    if (n_symbols >= 100000) {
        throw std::runtime_error("the repetitions make too many rules");
    }
    limit_work_poll(1024 + 8*n_name);
}

void limit_grammar_repeat(size_t n_elements, uint64_t n_times) {
    if (n_elements*n_times > 1000000) {
        throw std::runtime_error("the repetitions are too long");
    }
    limit_work_poll(n_units_rule_element*n_elements*n_times);
}

void limit_grammar_read(size_t & n_read, size_t n_elements, size_t n_stacks) {
    n_read += n_elements + 1;
    if (n_read > 1000000) {
        throw std::runtime_error("the grammar can be read in too many ways");
    }
    limit_work_poll(n_stacks*(n_units_compare + n_elements));
}

void limit_grammar_enter(const llama_grammar_rule & rule, size_t n_elements) {
    size_t n_alternatives = 1;
    for (const llama_grammar_element & element : rule) {
        n_alternatives += element.type == LLAMA_GRETYPE_ALT;
    }
    limit_work_poll(2*rule.size() + n_alternatives*(n_units_stack + n_units_stack_element*n_elements));
}

void limit_grammar_clone(const llama_grammar_rules & rules, const llama_grammar_stacks & stacks) {
    uint64_t n_rule_elements = 0;
    for (const llama_grammar_rule & rule : rules) {
        n_rule_elements += rule.size();
    }
    uint64_t n_stack_elements = 0;
    for (const llama_grammar_stack & stack : stacks) {
        n_stack_elements += stack.size();
    }
    limit_work_poll(n_units_clone*n_rule_elements*n_stack_elements);
}
