// Quantised weights as they lie in memory, read in pieces of 32 values of as many rows as a vector has lanes.

#pragma once

#include "h2o-int8-side.h"
#include "h2o-int8-weights.h"

#ifdef H2O_HAS_INT8

#include "ggml-quants.h"
#include "repack.h"

#define GGML_COMMON_IMPL_CPP
#include "ggml-common.h"

#include <cstddef>
#include <type_traits>

// Weights that come later are fetched once what was read before is stored. GCC would fetch for all pieces of a block at
// once, which is more than a processor can wait for.
static H2O_INLINE void h2o_int8_fetch(const char * next, int64_t n) {
#if !defined(_MSC_VER)
    asm volatile("" : "+r"(next) : : "memory");
#endif
    for (int64_t i = 0; i < n; i += 64) {
        _mm_prefetch(next + i, _MM_HINT_T1);
    }
}

struct h2o_int8_pieces {
    using V     = h2o_int8_lanes;
    using plain = h2o_int8_plain;

    // a block of 32 weights of each row
    struct piece {
        V::ints   q[H2O_INT8_BLOCK/4]; // 4 values of each
        V::floats scale[2];            // of the first and the last 16 values
        V::floats min;

        void set_scale(V::floats x) { scale[0] = scale[1] = x; }
    };

    // calls f(0) ... f(N - 1), with numbers that the compiler knows
    template <int N, typename F>
    static H2O_INLINE void for_each(const F & f) {
        if constexpr (N > 0) {
            for_each<N - 1>(f);
            f(std::integral_constant<int, N - 1>());
        }
    }

    template <int N>
    static H2O_INLINE V::ints low_bits(V::ints x) {
        return V::both(x, V::set8((1 << N) - 1));
    }

    // N bits of each byte from one on; bits of the next byte end up above them
    template <int FROM, int N>
    static H2O_INLINE V::ints bits_at(V::ints x) {
        return low_bits<N>(V::right<FROM>(x));
    }

    // byte I of each row
    template <int I>
    static H2O_INLINE V::ints byte_at(V::ints x) {
        return V::both(V::right<8*I>(x), V::set1(0xff));
    }

    // two bits or more above N others
    template <int N>
    static H2O_INLINE V::ints join_bits(V::ints low, V::ints high) {
        return V::either(low, V::left<N>(high));
    }

    // from signed ones: an offset of 128, or none
    static H2O_INLINE V::ints biased(V::ints q) {
        return H2O_INT8_WIDENS ? q : V::differ(q, V::set8((char) 0x80));
    }

    // the lower halves of 16 bytes, then the upper ones
    template <typename Rows>
    static H2O_INLINE void read_nibbles(const Rows & rows, int64_t at, piece & p) {
        V::ints x[4];
        rows.sixteen(at, x);
        for (int s = 0; s < 4; ++s) {
            p.q[s]     = low_bits<4>(x[s]);
            p.q[s + 4] = bits_at<4, 4>(x[s]);
        }
    }

    // bit i of a row is 0x10 in its byte i
    static H2O_INLINE void add_fifth_bits(V::ints bits, piece & p) {
        for_each<8>([&](auto s) {
            const V::ints x = V::both(V::right<4*s>(bits), V::set1(0xf));
            const V::ints y = join_bits<7>(x, x); // each bit four times, one of them where it belongs
            p.q[s] = V::either(p.q[s], V::both(join_bits<14>(V::left<4>(y), V::left<4>(y)), V::set8(0x10)));
        });
    }

    template <typename T>
    static H2O_INLINE void look_up(const T & values, piece & p) {
        const V::ints table = V::spread(_mm_loadu_si128((const __m128i *) values));
        for (V::ints & q : p.q) {
            q = V::look8(table, q);
        }
    }

    static H2O_INLINE void set_iq4(piece & p) {
        look_up(kvalues_iq4nl, p);
        for (V::ints & q : p.q) {
            q = biased(q);
        }
    }

    // twelve times a half is the most
    static H2O_INLINE void set_mxfp4(V::ints e, piece & p) {
        look_up(kvalues_mxfp4, p);
        for (V::ints & q : p.q) {
            q = V::add8(q, V::set8(12));
        }
        int32_t exponent[V::N];
        float   scale   [V::N];
        V::store((float *) exponent, V::cast(e));
        for (int i = 0; i < V::N; ++i) {
            scale[i] = GGML_E8M0_TO_FP32_HALF(exponent[i]);
        }
        p.set_scale(V::loadf(scale));
    }

    // read(rows, block, at, out): the block of each row that begins at this byte

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q8_0 *, int64_t at, const Sink & out) {
        piece p;
        rows.thirty_two(at + offsetof(block_q8_0, qs), p.q);
        for (V::ints & q : p.q) {
            q = biased(q);
        }
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q4_0 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_q4_0, qs), p);
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q4_1 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_q4_1, qs), p);
        const V::ints dm = rows.four(at);
        p.set_scale(V::f16(dm));
        p.min = V::f16(V::right<16>(dm));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q5_0 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_q5_0, qs), p);
        add_fifth_bits(rows.four(at + offsetof(block_q5_0, qh)), p);
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q5_1 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_q5_1, qs), p);
        add_fifth_bits(rows.four(at + offsetof(block_q5_1, qh)), p);
        const V::ints dm = rows.four(at);
        p.set_scale(V::f16(dm));
        p.min = V::f16(V::right<16>(dm));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_iq4_nl *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_iq4_nl, qs), p);
        set_iq4(p);
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_mxfp4 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_mxfp4, qs), p);
        set_mxfp4(byte_at<0>(rows.four(at)), p);
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_iq4_xs *, int64_t at, const Sink & out) {
        const V::floats d    = rows.f16 (at);
        const V::ints   high = rows.four(at + offsetof(block_iq4_xs, scales_h));
        const V::ints   low  = rows.four(at + offsetof(block_iq4_xs, scales_l));

        for_each<8>([&](auto j) {
            piece p;
            read_nibbles(rows, at + offsetof(block_iq4_xs, qs) + 16*j, p);
            set_iq4(p);
            const V::ints scale = join_bits<4>(V::both(V::right<4*j>(low), V::set1(0xf)), V::both(V::right<2*j>(high), V::set1(3)));
            p.set_scale(V::mul(d, V::to_f32(V::add32(scale, V::set1(-32)))));
            out.put(j, p);
        });
    }

    // eight scales and mins of 6 bits in 12 bytes
    struct scales_k {
        V::ints scale[2]; // four bytes each
        V::ints min[2];

        explicit scales_k(const V::ints * x) {
            scale[0] = low_bits<6>(x[0]);
            scale[1] = join_bits<4>(low_bits<4>(x[2]), bits_at<6, 2>(x[0]));
            min[0]   = low_bits<6>(x[1]);
            min[1]   = join_bits<4>(bits_at<4, 4>(x[2]), bits_at<6, 2>(x[1]));
        }

        template <int J>
        H2O_INLINE void set(V::floats d, V::floats minus_dmin, piece & p) const {
            p.set_scale(V::mul(d, V::to_f32(byte_at<J % 4>(scale[J/4]))));
            p.min = V::mul(minus_dmin, V::to_f32(byte_at<J % 4>(min[J/4])));
        }
    };

    static H2O_INLINE V::floats minus(V::floats x) {
        return V::mul(x, V::set1f(-1.0f));
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q4_K *, int64_t at, const Sink & out) {
        V::ints head[4]; // d, dmin and the scales
        rows.sixteen(at, head);
        const scales_k  scales(head + 1);
        const V::floats d    = V::f16(head[0]);
        const V::floats dmin = minus(V::f16(V::right<16>(head[0])));

        for_each<4>([&](auto i) {
            V::ints x[8];
            rows.thirty_two(at + offsetof(block_q4_K, qs) + 32*i, x);

            for_each<2>([&](auto h) {
                piece p;
                for (int s = 0; s < 8; ++s) {
                    p.q[s] = bits_at<4*h, 4>(x[s]);
                }
                scales.template set<2*i + h>(d, dmin, p);
                out.put(2*i + h, p);
            });
        });
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q5_K *, int64_t at, const Sink & out) {
        V::ints head[4];
        rows.sixteen(at, head);
        const scales_k  scales(head + 1);
        const V::floats d    = V::f16(head[0]);
        const V::floats dmin = minus(V::f16(V::right<16>(head[0])));

        V::ints high[8];
        rows.thirty_two(at + offsetof(block_q5_K, qh), high);

        for_each<4>([&](auto i) {
            V::ints x[8];
            rows.thirty_two(at + offsetof(block_q5_K, qs) + 32*i, x);

            for_each<2>([&](auto h) {
                piece p;
                for (int s = 0; s < 8; ++s) {
                    p.q[s] = join_bits<4>(bits_at<4*h, 4>(x[s]), bits_at<2*i + h, 1>(high[s]));
                }
                scales.template set<2*i + h>(d, dmin, p);
                out.put(2*i + h, p);
            });
        });
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q3_K *, int64_t at, const Sink & out) {
        V::ints tail[4]; // 2 bytes of qs, the scales, d
        rows.sixteen(at + offsetof(block_q3_K, scales) - 2, tail);
        V::ints scales[3];
        for (int i = 0; i < 3; ++i) {
            scales[i] = join_bits<16>(V::right<16>(tail[i]), tail[i + 1]);
        }
        const V::floats d = V::f16(V::right<16>(tail[3]));

        V::ints high[8];
        rows.thirty_two(at + offsetof(block_q3_K, hmask), high);

        for_each<2>([&](auto n) {
            V::ints x[8];
            rows.thirty_two(at + offsetof(block_q3_K, qs) + 32*n, x);

            for_each<4>([&](auto j) {
                constexpr int FOUR = 2*n + j/2; // of sixteen scales

                piece p;
                for (int s = 0; s < 8; ++s) {
                    p.q[s] = join_bits<2>(bits_at<2*j, 2>(x[s]), bits_at<4*n + j, 1>(high[s]));
                }
                const V::ints six = join_bits<4>(bits_at<FOUR/2*4, 4>(scales[FOUR % 2]), bits_at<2*FOUR, 2>(scales[2]));
                for_each<2>([&](auto h) {
                    p.scale[h] = V::mul(d, V::to_f32(V::add32(byte_at<j % 2*2 + h>(six), V::set1(-32))));
                });
                out.put(4*n + j, p);
            });
        });
    }

    template <typename Sink>
    static H2O_INLINE void read(const plain & rows, const block_q6_K *, int64_t at, const Sink & out) {
        V::ints scales[4];
        rows.sixteen(at + offsetof(block_q6_K, scales), scales);
        const V::floats d = rows.f16(at + offsetof(block_q6_K, d));

        for_each<2>([&](auto n) {
            V::ints low[2][8];
            V::ints high[8];
            rows.thirty_two(at + offsetof(block_q6_K, ql) + 64*n,      low[0]);
            rows.thirty_two(at + offsetof(block_q6_K, ql) + 64*n + 32, low[1]);
            rows.thirty_two(at + offsetof(block_q6_K, qh) + 32*n,      high);

            for_each<4>([&](auto j) {
                piece p;
                for (int s = 0; s < 8; ++s) {
                    p.q[s] = join_bits<4>(bits_at<j/2*4, 4>(low[j % 2][s]), bits_at<2*j, 2>(high[s]));
                }
                for_each<2>([&](auto h) {
                    const V::ints scale = V::signed_right<24>(V::left<24 - (j % 2*2 + h)*8>(scales[2*n + j/2]));
                    p.scale[h] = V::mul(d, V::to_f32(scale));
                });
                out.put(4*n + j, p);
            });
        });
    }

    template <typename Sink>
    static H2O_INLINE void read(const h2o_int8_repacked & rows, const block_q4_0x8 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_q4_0x8, qs), p);
        for (V::ints & q : p.q) {
            q = V::differ(q, V::set8(8));
        }
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const h2o_int8_repacked & rows, const block_iq4_nlx8 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_iq4_nlx8, qs), p);
        set_iq4(p);
        p.set_scale(rows.f16(at));
        out.put(0, p);
    }

    template <typename Sink>
    static H2O_INLINE void read(const h2o_int8_repacked & rows, const block_mxfp4x8 *, int64_t at, const Sink & out) {
        piece p;
        read_nibbles(rows, at + offsetof(block_mxfp4x8, qs), p);
        set_mxfp4(rows.one(at), p);
        out.put(0, p);
    }

    // the scales of a block of eight rows are together
    template <typename Sink>
    static H2O_INLINE void read(const h2o_int8_repacked & rows, const block_q4_Kx8 *, int64_t at, const Sink & out) {
        const V::floats d    = rows.f16(at + offsetof(block_q4_Kx8, d));
        const V::floats dmin = minus(rows.f16(at + offsetof(block_q4_Kx8, dmin)));

        for_each<4>([&](auto i) {
            V::ints x[8];
            rows.sixteen(at + offsetof(block_q4_Kx8, qs) + 256*i,       x);
            rows.sixteen(at + offsetof(block_q4_Kx8, qs) + 256*i + 128, x + 4);

            for_each<2>([&](auto h) {
                piece p;
                for (int s = 0; s < 8; ++s) {
                    p.q[s] = bits_at<4*h, 4>(x[s]);
                }
                V::ints scale;
                V::ints min;
                rows.scales_k(at + offsetof(block_q4_Kx8, scales) + (2*i + h)*12, scale, min);
                p.set_scale(V::mul(d, V::to_f32(scale)));
                p.min = V::mul(dmin, V::to_f32(min));
                out.put(2*i + h, p);
            });
        });
    }

    // how weights of a type lie in memory: N_BLOCK values are a block of type T
    template <ggml_type TYPE, int64_t N_BLOCK, typename T, typename Rows>
    struct layout {
        static constexpr h2o_int8_format FORMAT = h2o_int8_format_of(TYPE);

        // bytes of a block of all rows, and of a piece of it
        static constexpr int64_t BLOCK_BYTES = sizeof(T)*V::N/Rows::INTERLEAVED;
        static constexpr int64_t PIECE_BYTES = BLOCK_BYTES*H2O_INT8_BLOCK/N_BLOCK;

        // an expert's rows from row n on, past as many bytes as their values before k have
        static const char * at(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k) {
            return (const char *) op.weights(e, n, 0) + k/N_BLOCK*BLOCK_BYTES;
        }

        // values [k, k + n_k) of an expert's rows from row n on, piece by piece
        template <typename Sink>
        static H2O_INLINE void read(const h2o_linear_op & op, int64_t e, int64_t n, int64_t k, int64_t n_k, const Sink & out) {
            const Rows rows(op, e, n);

            for (int64_t b = 0; b < n_k/N_BLOCK; ++b) {
                h2o_int8_pieces::read(rows, (const T *) nullptr, (k/N_BLOCK + b)*sizeof(T), out.from(b*N_BLOCK/H2O_INT8_BLOCK));
            }
        }
    };

    template <ggml_type TYPE, int64_t N_BLOCK, typename T, typename F>
    static bool visit_plain(const F & f) {
        f(layout<TYPE, N_BLOCK, T, plain>());
        return true;
    }

    template <ggml_type TYPE, int64_t N_BLOCK, typename T, typename T8, typename F>
    static bool visit_any(const ggml_tensor * w, const F & f) {
        if (!h2o_int8_is_repacked(w)) {
            return visit_plain<TYPE, N_BLOCK, T>(f);
        }
        f(layout<TYPE, N_BLOCK, T8, h2o_int8_repacked>());
        return true;
    }

    // calls f with the layout of w; false for types that have no such form
    template <typename F>
    static bool visit(const ggml_tensor * w, const F & f) {
        switch (w->type) {
            case GGML_TYPE_Q8_0:   return visit_plain<GGML_TYPE_Q8_0,   32,  block_q8_0>  (f);
            case GGML_TYPE_Q4_1:   return visit_plain<GGML_TYPE_Q4_1,   32,  block_q4_1>  (f);
            case GGML_TYPE_Q5_0:   return visit_plain<GGML_TYPE_Q5_0,   32,  block_q5_0>  (f);
            case GGML_TYPE_Q5_1:   return visit_plain<GGML_TYPE_Q5_1,   32,  block_q5_1>  (f);
            case GGML_TYPE_Q3_K:   return visit_plain<GGML_TYPE_Q3_K,   256, block_q3_K>  (f);
            case GGML_TYPE_Q5_K:   return visit_plain<GGML_TYPE_Q5_K,   256, block_q5_K>  (f);
            case GGML_TYPE_Q6_K:   return visit_plain<GGML_TYPE_Q6_K,   256, block_q6_K>  (f);
            case GGML_TYPE_IQ4_XS: return visit_plain<GGML_TYPE_IQ4_XS, 256, block_iq4_xs>(f);
            case GGML_TYPE_Q4_0:   return visit_any<GGML_TYPE_Q4_0,   32,  block_q4_0,   block_q4_0x8>  (w, f);
            case GGML_TYPE_Q4_K:   return visit_any<GGML_TYPE_Q4_K,   256, block_q4_K,   block_q4_Kx8>  (w, f);
            case GGML_TYPE_IQ4_NL: return visit_any<GGML_TYPE_IQ4_NL, 32,  block_iq4_nl, block_iq4_nlx8>(w, f);
            case GGML_TYPE_MXFP4:  return visit_any<GGML_TYPE_MXFP4,  32,  block_mxfp4,  block_mxfp4x8> (w, f);
            default: return false;
        }
    }
};

#endif
