// Instructions of tensor cores, by the layouts of the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".

#include "access.h"

namespace ptx {

namespace {

bool meet_all(warp & w, const instr & in) {
    if (!w.meet(ALL, in)) return false;
    if (w.active != ALL) fault("an instruction of whole warps without all lanes", &in);
    return true;
}

// ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16: lane 8i + r has the address of row r of matrix i; of each
// matrix a lane gets two neighbours of row lane/4, with .trans of that column.
void ldmatrix(warp & w, const instr & in) {
    if (!meet_all(w, in)) return;

    const int n = in.n_dst;
    w.active = n == 4 ? ALL : (1u << 8*n) - 1; // whose addresses count
    const access rows(w, in, in.o[n], 16, intent::reads, in.where);
    uint16_t x[32][8];
    w.each([&](int l) { memcpy(x[l], rows.at(l), sizeof(x[l])); });
    w.active = ALL;

    for (int i = 0; i < n; ++i) {
        w.fill<uint32_t>(in.o[i], [&](int l) {
            const int major = l/4, minor = l%4*2;
            return in.has("trans") ? x[8*i + minor][major] | x[8*i + minor + 1][major] << 16 : x[8*i + major][minor] | x[8*i + major][minor + 1] << 16;
        });
    }
}

// movmatrix.sync.aligned.m8n8.trans.b16: lane by lane as ldmatrix leaves a matrix
void movmatrix(warp & w, const instr & in) {
    if (!meet_all(w, in)) return;

    uint16_t x[8][8];
    memcpy(x, w.lanes<char>(in.o[1]), sizeof(x));
    w.fill<uint32_t>(in.o[0], [&](int l) { return x[l%4*2][l/4] | x[l%4*2 + 1][l/4] << 16; });
}

// mma.sync.aligned.m16n8kK.row.col: C [16, 8] = A [16, K]*B [K, 8] + C. Registers of a lane hold neighbours along k of
// 4 bytes: of A row g or g + 8, of B column g, with g = lane/4, beginning at k = lane%4 registers; the next ones four on.
// C: row g, columns 2*(lane%4) and the next one, then row g + 8.
template <class T, class ACC, class RES> void mma(warp & w, const instr & in) {
    if (!meet_all(w, in)) return;

    constexpr int N = 4/sizeof(T), N_C = 4/sizeof(RES); // in a register
    constexpr int n_a = 4, n_b = 2, k_all = n_b*4*N; // registers of A and B
    w.b->costs->flop += 2*16*8*k_all;
    const operand * o = in.o.data() + in.n_dst;

    ACC a[16][k_all], b[k_all][8], c[16][8];
    for (int l = 0; l < N_LANES; ++l) {
        const int g = l/4, t = l%4;
        for (int r = 0; r < n_a; ++r) {
            for (int i = 0; i < N; ++i) a[g + r%2*8][(r/2*4 + t)*N + i] = ACC(w.lanes<T>(o[r])[l*N + i]);
        }
        for (int r = 0; r < n_b; ++r) {
            for (int i = 0; i < N; ++i) b[(r*4 + t)*N + i][g] = ACC(w.lanes<T>(o[n_a + r])[l*N + i]);
        }
        for (int i = 0; i < 4; ++i) c[g + i/2*8][2*t + i%2] = ACC(w.lanes<RES>(o[n_a + n_b + i/N_C])[l*N_C + i%N_C]);
    }
    for (int i = 0; i < 16; ++i) {
        for (int k = 0; k < k_all; ++k) {
            for (int j = 0; j < 8; ++j) c[i][j] += a[i][k]*b[k][j];
        }
    }
    for (int l = 0; l < N_LANES; ++l) {
        for (int i = 0; i < 4; ++i) w.lanes<RES>(in.o[i/N_C])[l*N_C + i%N_C] = RES(c[l/4 + i/2*8][l%4*2 + i%2]);
    }
}

}

run_fn find_matrix(instr & in) {
    if (in.base == "ldmatrix"  && in.has("m8n8") && in.t() == type::b16) return ldmatrix;
    if (in.base == "movmatrix" && in.has("m8n8") && in.has("trans"))     return movmatrix;
    if (in.base != "mma" || in.has("satfinite") || in.o.size() != 2*in.n_dst + 6u) return nullptr;

    static const std::map<std::vector<type>, run_fn> products = {
        { { type::f16, type::f16, type::f16, type::f16 }, mma<half, float, half> },
        { { type::f32, type::f16, type::f16, type::f32 }, mma<half, float, float> },
        { { type::s32, type::s8,  type::s8,  type::s32 }, mma<int8_t, int32_t, int32_t> },
    };
    const auto it = products.find(in.types);
    return it == products.end() ? nullptr : it->second;
}

} // namespace ptx
