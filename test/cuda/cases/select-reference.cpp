// Rule 3 written out; see ggml_h2o_select.

#include "select-problem.h"

#include <cmath>
#include <map>
#include <set>

// the positions of one head whose scores count
static std::map<int, float> tracked_scores(const select_problem & p, int ih) {
    const ggml_h2o_tracked & t = p.tracked;

    std::map<int, float> res;
    for (int i = 0; i < t.n_mem; ++i) {
        const size_t at = (size_t) ih*p.n_mem_row + i;
        if (p.mem_pos[at] < t.mem_end) {
            res[p.mem_pos[at]] = p.mem_score[at];
        }
    }
    for (int i = 0; i < t.n_chunk; ++i) {
        res[t.chunk_pos + i] = p.chunk_score[(size_t) ih*p.n_chunk_row + i];
    }
    return res;
}

std::vector<int32_t> select_by_sets(const select_problem & p) {
    const int local_begin = std::max(0, p.pos - p.n_local);

    std::vector<int32_t> res;
    for (int ih = 0; ih < p.n_head; ++ih) {
        std::set<int> set;

        std::vector<std::pair<float, int>> best; // the first is the best: ascending by minus score, then by position
        for (const auto & [pos, score] : tracked_scores(p, ih)) {
            if (pos < local_begin) {
                best.push_back({ std::isnan(score) ? INFINITY : -score, pos });
            }
        }
        std::sort(best.begin(), best.end());

        for (size_t i = 0; i < best.size() && (int) set.size() < p.n_heavy; ++i) {
            set.insert(best[i].second);
        }
        for (int pos = 0; (int) set.size() < std::min(p.n_heavy, local_begin); ++pos) {
            set.insert(pos);
        }
        for (int pos = local_begin; pos < p.pos; ++pos) {
            set.insert(pos);
        }
        res.insert(res.end(), set.begin(), set.end());
    }
    return res;
}

std::vector<float> lookup_by_maps(const select_problem & p, const std::vector<int32_t> & set) {
    std::vector<float> res;
    for (int ih = 0; ih < p.n_head; ++ih) {
        const std::map<int, float> scores = tracked_scores(p, ih);

        for (int i = 0; i < p.n_set(); ++i) {
            const auto it = scores.find(set[(size_t) ih*p.n_set() + i]);
            res.push_back(it == scores.end() ? 0.0f : it->second);
        }
    }
    return res;
}
