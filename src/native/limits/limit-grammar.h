// What a grammar may take: llama.cpp's own work on one is exponential in places, and so is the memory.
//
// The bounds hold everywhere; how much of them together is for the thread's limit_work to say (limit-work.h).

#pragma once

#include "limit-work.h"
#include "llama-grammar.h"

// All functions throw what limit_work_poll throws. Those of the parser and limit_grammar_read also have bounds of their own,
// and throw std::runtime_error beyond them.

// the parser makes a symbol, whose name begins with one of n_name bytes, beside n_symbols others
void limit_grammar_symbol(size_t n_symbols, size_t n_name);

// the parser repeats n_elements, each at most n_times
void limit_grammar_repeat(size_t n_elements, uint64_t n_times);

// a stack of n_elements is a way to read what comes, beside n_stacks others; n_read counts the elements of one search
void limit_grammar_read(size_t & n_read, size_t n_elements, size_t n_stacks);

// a stack of n_elements goes into each alternative of a rule
void limit_grammar_enter(const llama_grammar_rule & rule, size_t n_elements);

// all stacks get pointers into a copy of all rules, each found by looking through them
void limit_grammar_clone(const llama_grammar_rules & rules, const llama_grammar_stacks & stacks);
