#include "cost.h"

#include <algorithm>

namespace ptx {

// 128 bytes a cycle: lanes with 16 bytes each are served by eight, with 8 by sixteen
void cost::add_shared(const uint64_t (&address)[32], uint32_t active, int n) {
    const int n_lanes = n <= 4 ? 32 : 128/n;
    for (int begin = 0; begin < 32; begin += n_lanes) {
        std::array<std::array<uint64_t, 32>, 32> rows; // of each bank, without what is there twice
        std::array<int, 32> n_rows{};
        int worst = 0;
        for (int l = begin; l < begin + n_lanes; ++l) {
            if (~active >> l & 1) continue;
            for (uint64_t word = address[l]/4; word*4 < address[l] + n; ++word) {
                auto & row = rows[word%32];
                int  & m   = n_rows[word%32];
                if (std::find(row.begin(), row.begin() + m, word) == row.begin() + m) row[m++] = word;
                worst = std::max(worst, m);
            }
        }
        shared_cycles += worst;
        shared_ideal  += worst > 0;
    }
}

void cost::add_global(const uint64_t (&address)[32], uint32_t active, int n) {
    std::array<uint64_t, 64> all;
    std::array<uint64_t, 32> own; // what several lanes read is read once
    int n_all = 0, n_own = 0;
    for (int l = 0; l < 32; ++l) {
        if (~active >> l & 1) continue;
        own[n_own++] = address[l];
        all[n_all++] = address[l]/32;
        if ((address[l] + n - 1)/32 != address[l]/32) all[n_all++] = (address[l] + n - 1)/32;
    }
    const auto n_different = [](auto begin, auto end) { std::sort(begin, end); return std::unique(begin, end) - begin; };
    sectors       += n_different(all.begin(), all.begin() + n_all);
    sectors_ideal += (n_different(own.begin(), own.begin() + n_own)*n + 31)/32;
}

} // namespace ptx
