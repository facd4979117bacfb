// The oracle for one layer as one decode call saw it, and a replay that holds a context's sparse calls against it.

#pragma once

#include "test-context.h"

#include "tests/h2o-oracle.h"

#include <map>
#include <vector>

struct naive_layer {
    int n_head;
    int n_head_kv;
    int d_head;

    int pos; // of the first query
    std::vector<float> q_intra; // that meets the keys of its own chunk; another one than q only in the two-pass schedule
    std::vector<float> q;       // that meets the memory, and in a dense call all keys
    test_kv            k;       // of all positions up to the last query
    test_kv            v;

    // out of the last call of a context, K and V from its cache
    naive_layer(const test_context & ctx, int il);
};

// the chunk of n tokens at position pos, with a memory set per KV head
struct naive_chunk {
    std::vector<double> out;         // [n][n_head*d_head]
    std::vector<double> chunk_score; // [n_head_kv][n], rule 2
    std::vector<double> mem_votes;   // [n_head_kv][n_mem], what rule 5 adds

    naive_chunk(const naive_layer & layer, int pos, int n, const std::vector<std::vector<int>> & memory);
};

double naive_nmse(const std::vector<float> & got, const std::vector<double> & expected);
double naive_nmse(const std::vector<float> & got, const std::vector<float>  & expected);

// Follows the sparse calls of a context. Each memory set must be the one that rule 3 makes of the scores that the
// engine itself reported before; outputs and scores must come near to the naive ones over these sets.
class naive_replay {
public:
    naive_replay(const test_context & ctx) : ctx(ctx) {}

    // holds the last call of the context, sparse or not, against the method
    void check_call();

    // the cache was truncated
    void truncate(int pos);

    // worst so far
    double nmse_out    = 0.0; // of a layer's output
    double error_score = 0.0; // relative, of one score

    // how lively the test was
    int n_selections = 0; // that had a Heavy to keep, per layer and KV head
    int n_turnovers  = 0; // of these, how many let a Heavy position go

private:
    struct tracked_head {
        std::map<int32_t, float> engine;
        std::map<int, double>    naive;
        std::vector<int>         heavy; // of the last memory
    };

    const test_context & ctx;

    std::map<std::pair<int, int>, tracked_head> heads; // by layer and KV head

    void check_head(const test_trace & t, int ih, const std::vector<int> & memory, const naive_chunk & expected);
};
