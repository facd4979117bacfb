// Each instruction against what the PTX ISA says of it, worked out by hand, and each fault where a device would have
// one or leave a result open. Prints "FAIL ..." per miss; ends with 1 if there is any.

#include "module.h"
#include "warp.h"

#include <cstdio>
#include <functional>

using namespace ptx;

static int n_wrong = 0;
static int n_all   = 0;

static void expect(bool ok, const std::string & what) {
    n_all++;
    n_wrong += !ok;
    if (!ok) printf("FAIL %s\n", what.c_str());
}

struct memory {
    alignas(64) uint32_t words[1024] = {};
    memory()  { add_region(words, sizeof(words)); }
    ~memory() { remove_region(words); }
};

// -> what it faulted with, "" if it did not. in: 32-bit words of device memory at %in, and %out behind 512 of them
static std::string run(const std::string & code, memory & m, unsigned n_threads = 32, unsigned n_blocks = 1) {
    const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_in, .param .u64 k_out) {\n"
        ".reg .b64 %in, %out, %la, %lb, %lc, %ld, %addr<8>;\n.reg .b32 %a, %b, %c, %d, %x<32>, %tid, %lane4;\n.reg .f32 %f<32>;\n"
        ".reg .b16 %ha, %hb, %hc, %hd;\n.reg .pred %p, %q, %r;\n.shared .align 16 .b8 tile[1024];\n"
        "ld.param.u64 %in, [k_in]; ld.param.u64 %out, [k_out]; mov.u32 %tid, %tid.x; mul.wide.u32 %addr0, %tid, 4;\n"
        "add.s64 %addr1, %out, %addr0; shl.b32 %lane4, %tid, 2;\n" + code + "\nret;\n}\n";
    void * in = m.words, * out = m.words + 512;
    void * args[] = { &in, &out };
    cost costs;
    try {
        module mod(text);
        launch(*mod.find("k"), { n_blocks, 1, 1 }, { n_threads, 1, 1 }, 0, args, costs);
    } catch (const device_fault & f) {
        return f.what();
    }
    return "";
}

struct scalar {
    const char * code;
    uint64_t     a, b, c, d;
};

// operands a, b, c as %la (64 bits), %a (the low 32), %ha (the low 16); the result in one of %ld, %d, %hd
static const scalar scalars[] = {
    { "add.s32 %d, %a, %b;", 0x7fffffff, 1, 0, 0x80000000 },
    { "add.s64 %ld, %la, %lb;", 0xffffffff, 1, 0, 0x100000000 },
    { "sub.s32 %d, %a, %b;", 0, 1, 0, 0xffffffff },
    { "mul.lo.s32 %d, %a, %b;", 0x10001, 0x10001, 0, 0x20001 },
    { "mul.hi.s32 %d, %a, %b;", 0xffffffff, 2, 0, 0xffffffff },
    { "mul.hi.u32 %d, %a, %b;", 0xffffffff, 2, 0, 1 },
    { "mul.wide.s32 %ld, %a, %b;", 0xfffffffe, 3, 0, 0xfffffffffffffffa },
    { "mul.wide.u16 %d, %ha, %hb;", 0xffff, 0xffff, 0, 0xfffe0001 },
    { "mul.lo.s64 %ld, %la, -3;", 5, 0, 0, 0xfffffffffffffff1 },
    { "mad.lo.s32 %d, %a, %b, %c;", 3, 4, 5, 17 },
    { "mad.wide.s32 %ld, %a, %b, %lc;", 0xffffffff, 4, 1, 0xfffffffffffffffd },
    { "div.s32 %d, %a, %b;", 0xfffffff9, 2, 0, 0xfffffffd }, // -7/2 = -3
    { "rem.s32 %d, %a, %b;", 0xfffffff9, 2, 0, 0xffffffff },
    { "div.u32 %d, %a, %b;", 0xfffffff9, 2, 0, 0x7ffffffc },
    { "min.s32 %d, %a, %b;", 0xffffffff, 1, 0, 0xffffffff },
    { "max.s32 %d, %a, %b;", 0xffffffff, 1, 0, 1 },
    { "min.u32 %d, %a, %b;", 0xffffffff, 1, 0, 1 },
    { "neg.s32 %d, %a;", 1, 0, 0, 0xffffffff },
    { "abs.s32 %d, %a;", 0xfffffffb, 0, 0, 5 },
    { "and.b32 %d, %a, %b;", 0xc, 0xa, 0, 8 }, { "or.b32 %d, %a, %b;", 0xc, 0xa, 0, 0xe }, { "xor.b32 %d, %a, %b;", 0xc, 0xa, 0, 6 },
    { "not.b32 %d, %a;", 0xf, 0, 0, 0xfffffff0 },
    { "shl.b32 %d, %a, %b;", 1, 32, 0, 0 },
    { "shl.b64 %ld, %la, %b;", 1, 33, 0, 0x200000000 },
    { "shr.s32 %d, %a, %b;", 0x80000000, 40, 0, 0xffffffff },
    { "shr.u32 %d, %a, %b;", 0x80000000, 31, 0, 1 },
    { "shr.s16 %hd, %ha, 4;", 0x8000, 0, 0, 0xf800 },
    { "bfi.b32 %d, %a, %b, 8, 4;", 0xff, 0x11111111, 0, 0x11111f11 },
    { "bfe.s32 %d, %a, 4, 4;", 0xa0, 0, 0, 0xfffffffa },
    { "bfe.u32 %d, %a, 4, 4;", 0xa0, 0, 0, 0xa },
    { "prmt.b32 %d, %a, %b, 0x5410;", 0xddccbbaa, 0x44332211, 0, 0x2211bbaa },
    { "prmt.b32 %d, %a, %b, 0x8889;", 0x7f80, 0, 0, 0xffffff00 }, // signs of bytes 0, 0, 0 and 1
    { "popc.b32 %d, %a;", 0xf0f, 0, 0, 8 },
    { "clz.b32 %d, %a;", 0xf0f, 0, 0, 20 },
    { "clz.b32 %d, %a;", 0, 0, 0, 32 },
    { "clz.b64 %d, %la;", 0x100000000, 0, 0, 31 },
    { "clz.b64 %d, %la;", 0, 0, 0, 64 },
    { "dp2a.lo.s32.s32 %d, %a, %b, %c;", 0xffff0100, 0x0203fe04, 10, 1036 }, // 10 + 256*4 - 1*-2
    { "dp2a.hi.s32.s32 %d, %a, %b, %c;", 0xffff0100, 0x0203fe04, 10, 776 }, // 10 + 256*3 - 1*2
    { "dp4a.s32.s32 %d, %a, %b, %c;", 0xff020304, 0x01010101, 10, 18 }, // 10 + 4 + 3 + 2 - 1
    { "setp.lt.s32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 0xffffffff, 0, 0, 1 },
    { "setp.lt.u32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 0xffffffff, 0, 0, 2 },
    { "setp.eq.s16 %p, %ha, 0; selp.b32 %d, 1, 2, %p;", 0x10000, 0, 0, 1 },
    { "setp.ne.s32 %p, %a, 0; setp.eq.and.s32 %q, %b, 0, %p; selp.b32 %d, 1, 2, %q;", 1, 0, 0, 1 },
    { "setp.eq.s32 %p|%q, %a, 1; selp.b32 %d, 1, 2, %q;", 1, 0, 0, 2 },
    { "setp.gt.f32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 0x7fc00000, 0, 0, 2 }, // NaN
    { "setp.gtu.f32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 0x7fc00000, 0, 0, 1 },
    { "setp.nan.f32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 0x7fc00000, 0, 0, 1 },
    { "setp.eq.ftz.f32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 1, 0, 0, 1 }, // a subnormal is zero
    { "setp.eq.f32 %p, %a, %b; selp.b32 %d, 1, 2, %p;", 1, 0, 0, 2 },
    { "mov.pred %p, 1; not.pred %q, %p; xor.pred %r, %p, %q; selp.b32 %d, 1, 2, %r;", 0, 0, 0, 1 },
    { "mov.b32 %d, {%ha, %hb};", 0x1234, 0x5678, 0, 0x56781234 },
    { "mov.b32 %d, {0, %hb};", 0, 0x5678, 0, 0x56780000 },
    { "mov.b32 {%ha, %hd}, %a;", 0x56781234, 0, 0, 0x5678 },
    { "mov.b64 %ld, {%b, %a};", 1, 2, 0, 0x100000002 },
    { "add.f32 %d, %a, %b;", 0x3f800000, 0x40000000, 0, 0x40400000 },
    { "add.rz.ftz.f32 %d, %a, %b;", 0x4b000000, 0x3f400000, 0, 0x4b000000 }, // 2^23 + 0.75
    { "add.rz.ftz.f32 %d, %a, %b;", 0x4b000000, 0xbe800000, 0, 0x4affffff }, // 2^23 - 0.25
    { "add.ftz.f32 %d, %a, %b;", 0x00400000, 0x80000001, 0, 0 },
    { "mul.f32 %d, %a, %b;", 0x3fc00000, 0xc0000000, 0, 0xc0400000 },
    { "fma.rn.f32 %d, %a, %b, %c;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000 }, // (1 + e)^2 - (1 + 2e) = e^2
    { "min.f32 %d, %a, %b;", 0x7fc00000, 0x3f800000, 0, 0x3f800000 },
    { "max.f32 %d, %a, %b;", 0x80000000, 0, 0, 0 }, // -0 and 0
    { "neg.f32 %d, %a;", 0, 0, 0, 0x80000000 },
    { "ex2.approx.ftz.f32 %d, %a;", 0x40400000, 0, 0, 0x41000000 }, { "lg2.approx.ftz.f32 %d, %a;", 0x41000000, 0, 0, 0x40400000 },
    { "rcp.approx.ftz.f32 %d, %a;", 0x40800000, 0, 0, 0x3e800000 }, { "rsqrt.approx.f32 %d, %a;", 0x40800000, 0, 0, 0x3f000000 },
    { "sqrt.approx.f32 %d, %a;", 0x41100000, 0, 0, 0x40400000 }, { "div.approx.f32 %d, %a, %b;", 0x40c00000, 0x40000000, 0, 0x40400000 },
    { "fma.rn.f16x2 %d, %a, %b, %c;", 0x40003c00, 0x40004000, 0x3c003c00, 0x45004200 }, // 1*2 + 1, 2*2 + 1
    { "add.f16 %hd, %ha, %hb;", 0x6800, 0x3c00, 0, 0x6800 }, // 2048 + 1: to even
    { "cvt.f32.f16 %d, %ha;", 0x3e00, 0, 0, 0x3fc00000 },
    { "cvt.rn.f16.f32 %hd, %a;", 0x477ff000, 0, 0, 0x7c00 }, // 65520: halfway to infinity
    { "cvt.rn.f16x2.f32 %d, %a, %b;", 0x3f800000, 0x40000000, 0, 0x3c004000 },
    { "cvt.rn.bf16x2.f32 %d, %a, %b;", 0x3f808000, 0x3f818000, 0, 0x3f803f82 }, // both to even
    { "cvt.rn.f32.s32 %d, %a;", 0xffffffff, 0, 0, 0xbf800000 },
    { "cvt.rzi.s32.f32 %d, %a;", 0xbfc00000, 0, 0, 0xffffffff }, { "cvt.rni.s32.f32 %d, %a;", 0x40200000, 0, 0, 2 }, // -1.5, 2.5
    { "cvt.rzi.s32.f32 %d, %a;", 0x7f800000, 0, 0, 0x7fffffff }, { "cvt.rzi.u32.f32 %d, %a;", 0xbf800000, 0, 0, 0 },
    { "cvt.rmi.f32.f32 %d, %a;", 0xbfc00000, 0, 0, 0xc0000000 },
    { "cvt.s64.s32 %ld, %a;", 0xffffffff, 0, 0, 0xffffffffffffffff }, { "cvt.u64.u32 %ld, %a;", 0xffffffff, 0, 0, 0xffffffff },
    { "cvt.s16.s8 %hd, %ha;", 0x180, 0, 0, 0xff80 }, { "cvt.u16.u32 %hd, %a;", 0x12345, 0, 0, 0x2345 },
    { "ld.global.s8 %d, [%in];", 0xff, 0, 0, 0xffffffff }, { "ld.global.u8 %d, [%in];", 0xff, 0, 0, 0xff },
    { "ld.global.v2.u32 {%b, %d}, [%in];", 0x700000005, 0, 0, 7 },
    { "st.shared.u32 [tile+4], %a; ld.shared.u16 %hd, [tile+6];", 0x12345678, 0, 0, 0x1234 },
    { "mov.u64 %addr2, tile; cvta.shared.u64 %addr3, %addr2; st.u32 [%addr3], %a; ld.shared.u32 %d, [tile];", 9, 0, 0, 9 },
};

static void scalars_hold() {
    for (const scalar & s : scalars) {
        memory m;
        memcpy(m.words, &s.a, 24);
        const std::string fault = run("ld.global.u64 %la, [%in]; ld.global.u64 %lb, [%in+8]; ld.global.u64 %lc, [%in+16];\n"
            "cvt.u32.u64 %a, %la; cvt.u32.u64 %b, %lb; cvt.u32.u64 %c, %lc; cvt.u16.u64 %ha, %la; cvt.u16.u64 %hb, %lb; cvt.u16.u64 %hc, %lc;\n"
            "mov.u64 %ld, 0; mov.u32 %d, 0; mov.u16 %hd, 0;\n" + std::string(s.code) +
            "\ncvt.u64.u32 %la, %d; or.b64 %ld, %ld, %la; cvt.u64.u16 %la, %hd; or.b64 %ld, %ld, %la; st.global.u64 [%out], %ld;", m, 1);
        uint64_t d;
        memcpy(&d, m.words + 512, 8);
        char text[80];
        snprintf(text, sizeof(text), ": %llx, not %llx ", (unsigned long long) d, (unsigned long long) s.d);
        expect(fault.empty() && d == s.d, s.code + std::string(text) + fault);
    }
}

// of each lane's result in %d
static void lanes_hold(const std::string & code, const std::function<uint32_t(int)> & expected, unsigned n_threads = 32) {
    memory m;
    for (int i = 0; i < 512; ++i) m.words[i] = 100 + i;
    const std::string fault = run("add.s64 %addr2, %in, %addr0; ld.global.u32 %a, [%addr2]; mov.u32 %d, 0;\n" + code + "\nst.global.u32 [%addr1], %d;", m, n_threads);
    bool ok = fault.empty();
    for (unsigned i = 0; i < n_threads; ++i) ok = ok && m.words[512 + i] == expected(i);
    expect(ok, code + " " + fault);
}

static void warps_hold() {
    lanes_hold("shfl.sync.bfly.b32 %d, %a, 16, 31, -1;", [](int l) { return 100 + (l ^ 16); });
    lanes_hold("shfl.sync.up.b32 %d|%p, %a, 3, 0, -1; @!%p mov.u32 %d, 7;", [](int l) { return l < 3 ? 7 : 100 + l - 3; });
    lanes_hold("shfl.sync.down.b32 %d, %a, 2, 31, -1;", [](int l) { return 100 + (l < 30 ? l + 2 : l); });
    lanes_hold("shfl.sync.idx.b32 %d, %a, 5, 31, -1;", [](int) { return 105; });
    lanes_hold("shfl.sync.idx.b32 %d, %a, 5, 0x181f, -1;", [](int l) { return 100 + (l & 0x18) + 5; }); // in groups of eight
    lanes_hold("setp.lt.u32 %p, %tid, 3; vote.sync.ballot.b32 %d, %p, -1;", [](int) { return 7; });
    lanes_hold("setp.lt.u32 %p, %tid, 3; vote.sync.any.pred %q, %p, -1; selp.b32 %d, 1, 2, %q;", [](int) { return 1; });
    lanes_hold("redux.sync.add.s32 %d, %a, -1;", [](int) { return 32*100 + 31*16; });
    // both arms, then together again: half of the lanes take what the other half left
    lanes_hold("setp.lt.u32 %p, %tid, 16; @%p bra LOW; add.u32 %a, %a, 1000; bra.uni END; LOW: add.u32 %a, %a, 2000; END: shfl.sync.bfly.b32 %d, %a, 16, 31, -1;",
        [](int l) { return 100 + (l ^ 16) + (l < 16 ? 1000 : 2000); });
    lanes_hold("mov.u32 %b, 0; LOOP: add.u32 %d, %d, 2; add.u32 %b, %b, 1; setp.lt.u32 %p, %b, %tid; @%p bra LOOP;", [](int l) { return l < 1 ? 2 : 2*l; });
    lanes_hold("setp.lt.u32 %p, %tid, 40; bar.red.popc.u32 %d, 0, %p;", [](int) { return 40; }, 64);
    lanes_hold("mov.u64 %addr3, tile; add.s64 %addr4, %addr3, %addr0; st.shared.u32 [%addr4], %a; bar.sync 0; xor.b32 %b, %lane4, 128; cvt.u64.u32 %la, %b;"
        "add.s64 %addr4, %addr3, %la; ld.shared.u32 %d, [%addr4];", [](int l) { return 100 + (l ^ 32); }, 64);
    lanes_hold("atom.global.add.u32 %b, [%in+1024], 1; bar.sync 0; ld.global.u32 %d, [%in+1024];", [](int) { return 100 + 256 + 64; }, 64);
    lanes_hold("shl.b32 %b, %tid, 4; mov.u32 %c, tile; add.u32 %c, %c, %b; cvt.u64.u32 %la, %b; add.s64 %addr3, %in, %la; cp.async.cg.shared.global [%c], [%addr3], 16;"
        "cp.async.wait_all; ld.shared.u32 %d, [%c+4];", [](int l) { return 101 + 4*l; });
    // halves 2*i and 2*i + 1 of word i of a tile whose rows of eight are 16 bytes: of matrix 1, row lane/4, columns 2*(lane%4) and the next
    const std::string tile = "shl.b32 %b, %tid, 4; mov.u32 %c, tile; add.u32 %c, %c, %b; shl.b32 %x0, %tid, 3; "
        "mov.b32 {%ha, %hb}, %x0; add.u16 %hb, %ha, 1; mov.b32 %x4, {%ha, %hb}; add.u32 %x5, %x4, 0x20002; add.u32 %x6, %x5, 0x20002; add.u32 %x7, %x6, 0x20002; "
        "st.shared.v4.b32 [%c], {%x4, %x5, %x6, %x7}; bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x4";
    lanes_hold(tile + ".shared.b16 {%x0, %d, %x2, %x3}, [%c];", [](int l) { const uint32_t x = 64 + l/4*8 + l%4*2; return x | (x + 1) << 16; });
    lanes_hold("shl.b32 %x0, %tid, 1; mad.lo.u32 %x1, %x0, 0x10001, 0x10000; movmatrix.sync.aligned.m8n8.trans.b16 %d, %x1;", // 2l, 2l + 1
        [](int l) { const uint32_t x = l%4*2*8 + l/4; return x | (x + 8) << 16; });
    lanes_hold(tile + ".trans.shared.b16 {%x0, %d, %x2, %x3}, [%c];", [](int l) { const uint32_t x = 64 + l%4*2*8 + l/4; return x | (x + 8) << 16; });
}

// A, B and C by the ISA's figures: element i of a lane's fragment to its row and column
struct place { int row, col; };

template <class T> static void products_hold(const std::string & name, const std::function<place(int lane, int i)> & a_of,
        const std::function<place(int lane, int i)> & b_of) {
    memory m; // registers of lane l of A at 8*l, of B at 8*l + 4
    const auto a_at = [](int row, int k) { return (row*3 + k*5)%7 - 3; };
    const auto b_at = [](int k, int col) { return (k*2 + col*3)%5 - 2; };
    const int per = 4/sizeof(T);
    for (int l = 0; l < 32; ++l) {
        for (int i = 0; i < 4*per; ++i) ((T *) (m.words + 8*l))[i]     = T(a_at(a_of(l, i).row, a_of(l, i).col));
        for (int i = 0; i < 2*per; ++i) ((T *) (m.words + 8*l + 4))[i] = T(b_at(b_of(l, i).row, b_of(l, i).col));
    }
    const bool is_half = name.ends_with("f16"), is_float = name.ends_with("f32"); // of C, whose halves are in pairs
    const std::string one = is_half ? "0x3C003C00" : is_float ? "0f3F800000" : "1"; // C everywhere
    const std::string c = is_half ? "{%x10, %x11}, " : "{%x10, %x11, %x12, %x13}, ", ones = is_half ? "{%x8, %x8};" : "{%x8, %x8, %x8, %x8};";
    const std::string fault = run("shl.b32 %b, %tid, 5; cvt.u64.u32 %la, %b; add.s64 %addr2, %in, %la; ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%addr2];"
        "ld.global.v4.u32 {%x4, %x5, %x6, %x7}, [%addr2+16]; mov.b32 %x8, " + one + "; " + name + " " + c + "{%x0, %x1, %x2, %x3}, {%x4, %x5}, " + ones +
        "shl.b32 %b, %tid, 4; cvt.u64.u32 %la, %b; add.s64 %addr2, %out, %la; st.global.v4.u32 [%addr2], {%x10, %x11, %x12, %x13};", m);
    bool ok = fault.empty();
    for (int l = 0; l < 32; ++l) {
        for (int i = 0; i < 4; ++i) {
            int sum = 1;
            for (int k = 0; k < 8*per; ++k) sum += a_at(l/4 + (i < 2 ? 0 : 8), k)*b_at(k, l%4*2 + i%2);
            const uint32_t got = m.words[512 + 4*l + i];
            ok = ok && (is_half ? (int) ((half *) (m.words + 512 + 4*l))[i] == sum : is_float ? std::bit_cast<float>(got) == (float) sum : (int) got == sum);
        }
    }
    expect(ok, name + " " + fault);
}

static void matrices_hold() {
    const auto a16 = [](int l, int i) { return place { l/4 + (i < 2 || (4 <= i && i < 6) ? 0 : 8), l%4*2 + (i & 1) + (i >= 4 ? 8 : 0) }; };
    const auto b16 = [](int l, int i) { return place { l%4*2 + (i & 1) + (i >= 2 ? 8 : 0), l/4 }; };
    products_hold<half>("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a16, b16);
    products_hold<half>("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", a16, b16);
    const auto a8 = [](int l, int i) { return place { l/4 + (i < 4 || (8 <= i && i < 12) ? 0 : 8), l%4*4 + (i & 3) + (i >= 8 ? 16 : 0) }; };
    const auto b8 = [](int l, int i) { return place { l%4*4 + (i & 3) + (i >= 4 ? 16 : 0), l/4 }; };
    products_hold<int8_t>("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", a8, b8);
}

static void faults_are_found() {
    struct { const char * code; unsigned n_threads, n_blocks; const char * why; } faults[] = {
        { "ld.global.u32 %d, [%in+2];", 1, 1, "not aligned" },
        { "ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%in+8];", 1, 1, "not aligned" },
        { "ld.global.u32 %d, [%in+4096];", 1, 1, "no buffer" },
        { "st.global.u32 [%in+-4], %d;", 1, 1, "no buffer" },
        { "mov.u32 %d, 0; st.shared.u32 [tile+1024], %d;", 1, 1, "past the block's shared memory" },
        { "ld.shared.u32 %d, [tile];", 1, 1, "nobody wrote" },
        { "st.shared.u32 [tile], %tid; bar.sync 0; setp.eq.u32 %p, %tid, 0; @%p st.shared.u32 [tile], %tid; ld.shared.u32 %d, [tile];", 64, 1, "a race" },
        { "setp.eq.u32 %p, %tid, 0; @%p st.global.u32 [%out], %tid; ld.global.u32 %d, [%out];", 64, 1, "a race" },
        { "setp.eq.u32 %p, %tid, 0; mov.u32 %d, %ctaid.x; @%p st.global.u32 [%out], %d;", 32, 2, "a race" },
        { "setp.lt.u32 %p, %tid, 16; @%p bra A; bar.sync 0; bra.uni B; A: bar.sync 0; B: mov.u32 %d, 0;", 32, 1, "wait elsewhere" },
        { "setp.lt.u32 %p, %tid, 32; @%p bra A; bar.sync 0; bra.uni B; A: bar.sync 1; B: mov.u32 %d, 0;", 64, 1, "not all reach" },
        { "setp.lt.u32 %p, %tid, 16; @%p shfl.sync.idx.b32 %d, %tid, 0, 31, -1;", 32, 1, "passes by" },
        { "setp.lt.u32 %p, %tid, 16; @!%p shfl.sync.idx.b32 %d, %tid, 16, 31, 0xffff;", 32, 1, "does not name" },
        { "shfl.sync.idx.b32 %d, %tid, 20, 31, -1;", 16, 1, "not there" },
        { "mov.u32 %c, tile; cp.async.ca.shared.global [%c], [%in], 4; ld.shared.u32 %d, [tile];", 1, 1, "cp.async" },
        { "mov.u32 %c, tile; cp.async.ca.shared.global [%c], [%in], 4;", 1, 1, "before its copies" },
        { "ld.param.u64 %la, [k_in+16];", 1, 1, "past the parameters" },
        { "trap;", 1, 1, "does not know" },
        { "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%x0, %x1, %x2, %x3}, {%x4, %x5}, {%x6}, {%x0, %x1, %x2, %x3};", 32, 1, "does not know" },
        { "call.uni (retval0), vprintf, (param0, param1);", 1, 1, "does not know" },
    };
    for (const auto & f : faults) {
        memory m;
        const std::string got = run(f.code, m, f.n_threads, f.n_blocks);
        expect(got.find(f.why) != std::string::npos, std::string(f.code) + " should have been a fault (" + f.why + "): " + (got.empty() ? "none" : got));
    }
}

static void costs_are_counted() {
    cost c;
    uint64_t address[32];
    const auto fill = [&](int stride) { for (int l = 0; l < 32; ++l) address[l] = 1024 + l*stride; };
    const auto shared = [&](int stride, int n) { c = {}; fill(stride); c.add_shared(address, ALL, n); return c.shared_cycles; };
    const auto global = [&](int stride, int n) { c = {}; fill(stride); c.add_global(address, ALL, n); return c.sectors; };
    expect(shared(4, 4) == 1 && shared(0, 4) == 1 && shared(8, 4) == 2 && shared(128, 4) == 32 && shared(16, 16) == 4 && shared(128, 16) == 32, "banks");
    expect(shared(144, 16) == 4, "rows of 144 bytes meet in no bank");
    expect(global(4, 4) == 4 && global(32, 4) == 32 && global(16, 16) == 16 && global(0, 4) == 1, "sectors");
}

int main() {
    scalars_hold();
    warps_hold();
    matrices_hold();
    faults_are_found();
    costs_are_counted();
    printf("%d checks of the interpreter, %d wrong\n", n_all, n_wrong);
    return n_wrong == 0 ? 0 : 1;
}
