#include "module.h"

#include "fault.h"
#include "memory.h"
#include "text.h"

#include <algorithm>
#include <cstring>

namespace ptx {

static uint64_t number_of(std::string_view text) {
    const std::string s(text);
    if (starts(s, "0f") || starts(s, "0F") || starts(s, "0d") || starts(s, "0D")) {
        return std::stoull(s.substr(2), nullptr, 16); // the bits
    }
    return s[0] == '-' ? (uint64_t) std::stoll(s, nullptr, 0) : std::stoull(s, nullptr, 0);
}

static bool is_number(std::string_view s) {
    return isdigit((unsigned char) s[s[0] == '-' && s.size() > 1]);
}

// name[2][64] of .align 4 .b8 -> bytes; name loses its brackets
static size_t size_of_variable(const std::vector<std::string> & head, std::string & name) {
    size_t n = 1;
    for (const std::string & word : head) {
        n = std::max(n, word[0] == '.' ? size_of(type_of(word.substr(1))) : 0);
    }
    const size_t bracket = name.find('[');
    for (size_t at = bracket; at != std::string::npos; at = name.find('[', at + 1)) {
        n *= name[at + 1] == ']' ? 0 : std::stoul(name.substr(at + 1));
    }
    name = name.substr(0, bracket);
    return n;
}

void module::add_variable(std::string statement) {
    const size_t equals = statement.find('=');
    std::vector<std::string> head = words(statement.substr(0, equals));
    std::string name = head.back();
    const size_t n = size_of_variable(head, name);

    const auto is = [&](const char * word) { return std::find(head.begin(), head.end(), word) != head.end(); };
    if (is(".shared")) {
        if (is(".extern")) {
            dynamic.push_back(name);
        } else {
            shared.emplace_back(name, n);
        }
    } else if (is(".global") || is(".const")) {
        char * data = new char[n + 16]();
        variables[name].reset(data);
        add_constant(data, n);
        if (equals != std::string::npos) {
            std::string values = statement.substr(equals + 1);
            std::replace_if(values.begin(), values.end(), [](char c) { return c == '{' || c == '}'; }, ' ');
            const std::vector<std::string> parts = split(values);
            const size_t bracket = head.back().find('[');
            const size_t n_value = bracket == std::string::npos ? n : size_of_variable(head, head.back() = "x");
            for (size_t i = 0; i < parts.size(); ++i) {
                const uint64_t value = number_of(parts[i]);
                memcpy(data + i*n_value, &value, n_value);
            }
        }
    }
}

module::module(std::string source_text) : text(std::move(source_text)) {
    for (size_t i = 0; (i = text.find("//", i)) != std::string::npos;) {
        for (; i < text.size() && text[i] != '\n'; ++i) text[i] = ' ';
    }
    int line = 1;
    for (size_t i = 0; i < text.size();) {
        if (isspace((unsigned char) text[i])) {
            line += text[i++] == '\n';
            continue;
        }
        const std::string_view rest = std::string_view(text).substr(i);
        size_t end;
        if (starts(rest, ".version") || starts(rest, ".target") || starts(rest, ".address_size") || starts(rest, ".file")) {
            end = text.find('\n', i);
        } else if (const size_t stop = text.find_first_of("{;", i); text[stop] == '{' && text.find('=', i) > stop) {
            int depth = 0;
            for (end = stop; depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0, depth > 0;) ++end;
            const std::string_view head = rest.substr(0, stop - i);
            if (const size_t entry = head.find(".entry"); entry != std::string_view::npos) {
                const std::string_view after = trim(head.substr(entry + 6));
                const std::string name(trim(after.substr(0, after.find_first_of("( \n\t"))));
                const int line_body = line + std::count(head.begin(), head.end(), '\n');
                sources[name] = { head, rest.substr(stop - i + 1, end - stop - 1), line_body };
            }
            ++end;
        } else {
            end = text.find(';', i);
            add_variable(text.substr(i, end - i));
            ++end;
        }
        line += std::count(text.begin() + i, text.begin() + end, '\n');
        i = end;
    }
}

const program * module::find(const std::string & name) {
    const auto it = sources.find(name);
    if (it == sources.end()) {
        return nullptr;
    }
    std::unique_ptr<program> & p = programs[name];
    if (!p) {
        p = assemble(name, it->second);
    }
    return p.get();
}

namespace {

// names to registers: declared in blocks that nest
struct registers {
    struct declaration { int n; int size; std::map<std::string, uint32_t> at; }; // n < 0: one register, not %r<n>

    program                                       & p;
    std::vector<std::map<std::string, declaration>> scopes{1};
    std::map<std::pair<uint64_t, int>, uint32_t>    literals;

    uint32_t add(int size) {
        const uint32_t at = p.n_registers;
        p.n_registers += size > 0 ? 32*size : 64;
        return at;
    }

    void declare(const std::string & statement) { // .reg .b32 %r<12>, x
        const size_t size_end = statement.find_first_of(" \t", statement.find('.', 1));
        const type   t        = type_of(std::string(trim(statement.substr(0, size_end)).substr(statement.find('.', 1) + 1)));
        for (const std::string & name : split(statement.substr(size_end))) {
            const size_t range = name.find('<');
            const int n = range == std::string::npos ? -1 : std::stoi(name.substr(range + 1));
            scopes.back()[name.substr(0, range)] = { n, t == type::pred ? 0 : (int) size_of(t), {} };
        }
    }

    operand literal_of(uint64_t value, int size) {
        if (size < 8) value &= (1ull << 8*size) - 1;
        const auto [it, is_new] = literals.try_emplace({ value, size }, 0);
        if (is_new) {
            it->second = add(size);
            p.literals.push_back({ it->second, (uint8_t) size, value });
        }
        return { .at = it->second, .size = (uint8_t) size };
    }

    // false: no register of that name
    bool find(std::string name, operand & o) {
        o.is_not = name[0] == '!';
        name     = name.substr(o.is_not);
        const size_t digits = name.find_last_not_of("0123456789") + 1;
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
            for (const std::string & key : { name, name.substr(0, digits) }) {
                const auto it = scope->find(key);
                if (it == scope->end() || (key == name) != (it->second.n < 0)) continue;
                const auto [at, is_new] = it->second.at.try_emplace(name, 0);
                if (is_new) at->second = add(it->second.size);
                o.at   = at->second;
                o.size = it->second.size;
                return true;
            }
        }
        static const char * specials[] = { "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
            "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%warpid", "%lanemask_lt", "%dynamic_smem_size" };
        if (std::find(std::begin(specials), std::end(specials), name) == std::end(specials)) return false;
        const auto [at, is_new] = p.specials.try_emplace(name, 0);
        if (is_new) at->second = add(4);
        o.at   = at->second;
        o.size = 4;
        return true;
    }
};

}

// bytes of a literal in operand i
static int literal_size(const instr & in, int i) {
    const bool is_shift = in.base == "shl" || in.base == "shr";
    if ((is_shift && i == 2) || (in.base == "bfe" && i > 1) || (in.base == "bfi" && i > 2) || in.base == "shf" || in.base == "bar") {
        return 4;
    }
    if (in.t(in.types.size() - 1) == type::pred || (in.base == "setp" && i > 2)) {
        return 0;
    }
    const int size = size_of(in.t(in.types.size() - 1));
    return size == 0 ? 4 : in.has("wide") && i == 3 ? 2*size : size;
}

static kind kind_of(const instr & in) {
    static const std::map<std::string, kind> kinds = {
        { "mma", kind::matrix }, { "fma", kind::fma }, { "ldmatrix", kind::shared }, { "cp", kind::global }, { "mov", kind::move }, { "cvt", kind::move },
        { "cvta", kind::move }, { "selp", kind::move }, { "ex2", kind::special }, { "lg2", kind::special }, { "rcp", kind::special },
        { "sqrt", kind::special }, { "rsqrt", kind::special }, { "sin", kind::special }, { "cos", kind::special },
        { "tanh", kind::special }, { "div", kind::special }, { "shfl", kind::exchange }, { "vote", kind::exchange }, { "movmatrix", kind::exchange },
        { "redux", kind::exchange }, { "bar", kind::barrier }, { "barrier", kind::barrier }, { "bra", kind::control },
        { "ret", kind::control }, { "exit", kind::control },
    };
    if (in.base == "ld" || in.base == "st" || in.base == "atom" || in.base == "red") {
        return in.where == space::shared ? kind::shared : in.where == space::param || in.where == space::local ? kind::move : kind::global;
    }
    const auto it = kinds.find(in.base);
    return it == kinds.end() ? kind::arithmetic : it->second;
}

static run_fn find_run(instr & in) {
    for (const auto find : { find_integer, find_float, find_convert, find_memory, find_warp, find_matrix }) {
        if (const run_fn run = find(in)) {
            in.cost = kind_of(in);
            return run;
        }
    }
    in.cost = kind::control;
    return [](warp &, const instr & in) { fault("an instruction that the interpreter does not know", &in); };
}

std::unique_ptr<program> module::assemble(const std::string & name, const source & s) {
    auto res = std::make_unique<program>();
    program & p = *res;
    p.name        = name;
    p.n_registers = 256; // what operands that are not there point to

    std::map<std::string, uint64_t> symbols;
    for (const auto & [symbol, data] : variables) {
        symbols[symbol] = (uint64_t) data.get();
    }
    const std::string head(s.head);
    for (const std::string & param : split(std::string_view(head).substr(head.find('(') + 1, head.find(')') - head.find('(') - 1))) {
        std::vector<std::string> parts = words(param);
        std::string param_name = parts.back();
        const size_t n = size_of_variable(parts, param_name);
        size_t align = n;
        const bool is_pointer = std::find(parts.begin(), parts.end(), ".ptr") != parts.end(); // .align is of what it points to
        for (size_t i = 0; i + 1 < parts.size() && !is_pointer; ++i) {
            align = parts[i] == ".align" ? std::stoul(parts[i + 1]) : align;
        }
        p.n_params = (p.n_params + align - 1)/align*align;
        p.params.push_back(p.n_params);
        p.param_sizes.push_back(n);
        symbols[param_name] = p.n_params;
        p.n_params += n;
    }
    if (const size_t at = head.find(".maxntid"); at != std::string::npos) {
        p.max_threads = 1;
        for (const std::string & n : split(std::string_view(head).substr(at + 8, head.find_first_of("\n", at) - at - 8))) {
            p.max_threads *= std::stoi(n);
        }
    }

    registers regs { p, std::vector<std::map<std::string, registers::declaration>>(1), {} };
    std::map<std::string, int> labels;
    std::vector<std::string>   targets;

    const auto add_shared = [&](const std::string & symbol, size_t n) {
        p.n_shared = (p.n_shared + 15)/16*16;
        symbols[symbol] = SHARED_BEGIN + p.n_shared;
        p.n_shared += n;
    };
    for (const auto & [symbol, n] : shared) add_shared(symbol, n);

    const auto operand_of = [&](const std::string & text, const instr & in, int i) {
        operand o;
        if (text[0] == '[') {
            const std::string inner(trim(std::string_view(text).substr(1, text.size() - 2)));
            const size_t plus = inner.find('+');
            const std::string base(trim(std::string_view(inner).substr(0, plus)));
            if (!regs.find(base, o)) {
                const auto it = symbols.find(base);
                if (it == symbols.end()) fault("an address without a base: " + text, &in);
                o = regs.literal_of(it->second, 8);
            }
            o.offset = plus == std::string::npos ? 0 : (int64_t) number_of(trim(inner.substr(plus + 1)));
        } else if (text == "_") {
            o.is_bit_bucket = true;
        } else if (is_number(text)) {
            const int size = literal_size(in, i);
            o = regs.literal_of(size == 0 ? (number_of(text) ? ~0u : 0) : number_of(text), size == 0 ? 4 : size);
            o.size = size;
        } else if (!regs.find(text, o)) {
            const auto it = symbols.find(text);
            if (it == symbols.end()) fault("an operand without a declaration: " + text, &in);
            o = regs.literal_of(it->second, literal_size(in, i));
        }
        return o;
    };

    // shared memory first: the dynamic one lies behind it
    for (size_t at = 0; (at = s.body.find(".shared .align", at)) != std::string_view::npos; ++at) {
        if (at > 0 && s.body[at - 1] != '.' && isspace((unsigned char) s.body[at - 1])) {
            std::vector<std::string> parts = words(s.body.substr(at, s.body.find(';', at) - at));
            std::string symbol = parts.back();
            const size_t n = size_of_variable(parts, symbol);
            add_shared(symbol, n);
        }
    }
    for (const std::string & symbol : dynamic) {
        symbols[symbol] = SHARED_BEGIN + (p.n_shared + 127)/128*128;
    }

    int line = s.line;
    for (size_t i = 0; i < s.body.size();) {
        const char c = s.body[i];
        if (isspace((unsigned char) c) || c == ';') { line += c == '\n'; ++i; continue; }
        if (c == '{') { regs.scopes.emplace_back(); ++i; continue; }
        if (c == '}') { regs.scopes.pop_back(); ++i; continue; }

        const size_t stop = s.body.find_first_of(":;", i);
        if (s.body[stop] == ':' && s.body[stop + 1] != ':') {
            labels[std::string(trim(s.body.substr(i, stop - i)))] = p.code.size();
            i = stop + 1;
            continue;
        }
        const size_t end = s.body.find(';', i);
        std::string statement(trim(s.body.substr(i, end - i)));
        const int begin_line = line;
        line += std::count(statement.begin(), statement.end(), '\n');
        i = end + 1;

        if (starts(statement, ".reg")) {
            regs.declare(statement);
        } else if (starts(statement, ".local")) {
            std::vector<std::string> parts = words(statement);
            std::string symbol = parts.back();
            const size_t n = size_of_variable(parts, symbol);
            p.n_local = (p.n_local + 15)/16*16;
            symbols[symbol] = p.n_local;
            p.n_local += n;
        } else if (statement[0] != '.') {
            instr in;
            in.line = begin_line;
            in.text = statement;
            std::string target;
            if (statement[0] == '@') {
                const size_t space_at = statement.find_first_of(" \t");
                in.is_guarded = true;
                regs.find(statement.substr(1, space_at - 1), in.guard);
                statement = std::string(trim(std::string_view(statement).substr(space_at)));
            }
            const size_t name_end = statement.find_first_of(" \t\n");
            for (const std::string & part : split(statement.substr(0, name_end), '.')) {
                if (in.base.empty()) {
                    in.base = part;
                } else if (type_of(part) != type::none) {
                    in.types.push_back(type_of(part));
                } else {
                    in.mods.push_back(part);
                    const auto name = std::find(std::begin(modifier::NAMES), std::end(modifier::NAMES), part);
                    if (name != std::end(modifier::NAMES)) in.mod_bits |= 1ull << (name - std::begin(modifier::NAMES));
                }
            }
            const std::string rest = name_end == std::string::npos ? "" : statement.substr(name_end);
            if (in.base == "bra") {
                target = trim(rest);
            } else if (in.base != "call" && !(in.has("param") && (in.base == "st" || rest.find("[retval") != std::string::npos))) {
                int position = 0;
                for (const std::string & part : split(rest)) {
                    const bool is_vector = part[0] == '{';
                    for (const std::string & piece : split(is_vector ? part.substr(1, part.size() - 2) : part)) {
                        const size_t bar = piece[0] == '[' ? std::string::npos : piece.find('|');
                        in.o.push_back(operand_of(piece.substr(0, bar), in, position));
                        if (bar != std::string::npos) in.o.push_back(operand_of(piece.substr(bar + 1), in, position));
                    }
                    if (position++ == 0) in.n_dst = in.o.size();
                }
            }
            in.n_vec = in.base == "mov" ? in.o.size() - in.n_dst : in.has("v8") ? 8 : in.has("v4") ? 4 : in.has("v2") ? 2 : 1;
            in.run   = find_run(in);
            in.o.resize(std::max<size_t>(in.o.size(), 5)); // families read what they may not use
            p.code.push_back(std::move(in));
            targets.push_back(target);
        }
    }
    for (size_t i = 0; i < p.code.size(); ++i) {
        if (!targets[i].empty()) p.code[i].target = labels.at(targets[i]);
    }
    return res;
}

// in the order of the types
static const std::pair<const char *, int> TYPES[] = {
    { "", 0 }, { "pred", 0 }, { "b8", 1 }, { "b16", 2 }, { "b32", 4 }, { "b64", 8 }, { "u8", 1 }, { "u16", 2 }, { "u32", 4 }, { "u64", 8 },
    { "s8", 1 }, { "s16", 2 }, { "s32", 4 }, { "s64", 8 }, { "f16", 2 }, { "f16x2", 4 }, { "bf16", 2 }, { "bf16x2", 4 }, { "f32", 4 }, { "f64", 8 },
};

type type_of(const std::string & name) {
    const auto it = std::find_if(std::begin(TYPES), std::end(TYPES), [&](const auto & t) { return name == t.first; });
    return it == std::end(TYPES) ? type::none : (type) (it - std::begin(TYPES));
}

size_t size_of(type t) { return TYPES[(int) t].second; }

// The image is a header and parts of 64 bytes and more before their contents; of a part: kind (1: PTX), the size of its
// header and of its contents, and at 28 the chip. Contents must not be compressed.
std::string ptx_of_fatbin(const void * wrapper, int arch) {
    const char * image = *(const char * const *) ((const char *) wrapper + 8);
    const auto at = [](const char * p, int offset, auto value) { memcpy(&value, p + offset, sizeof(value)); return value; };

    const char * end = image + at(image, 6, uint16_t()) + at(image, 8, uint64_t());
    std::string res;
    int best = 0;
    for (const char * part = image + at(image, 6, uint16_t()); part < end;) {
        const uint32_t n_header = at(part, 4, uint32_t());
        const uint64_t n        = at(part, 8, uint64_t());
        const int      chip     = at(part, 28, uint32_t());
        if (at(part, 0, uint16_t()) == 1 && chip <= arch && chip > best) {
            best = chip;
            res  = std::string(part + n_header, strnlen(part + n_header, n));
        }
        part += n_header + n;
    }
    return res;
}

} // namespace ptx
