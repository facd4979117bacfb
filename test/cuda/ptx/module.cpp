#include "module.h"

#include "memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sstream>

namespace ptx {

static std::string_view trim(std::string_view s) {
    const size_t begin = s.find_first_not_of(" \t\n");
    return begin == s.npos ? "" : s.substr(begin, s.find_last_not_of(" \t\n") + 1 - begin);
}

// at commas that stand in no bracket
static std::vector<std::string> split(std::string_view s, char at = ',') {
    std::vector<std::string> res(1);
    int depth = 0;
    for (const char c : s) {
        depth += strchr("[{(", c) ? 1 : strchr("]})", c) ? -1 : 0;
        if (c == at && depth == 0) {
            res.emplace_back();
        } else {
            res.back() += c;
        }
    }
    for (std::string & part : res) part = trim(part);
    std::erase(res, "");
    return res;
}

static uint64_t number_of(const std::string & s) {
    const bool is_float = s.size() > 2 && s[0] == '0' && strchr("fFdD", s[1]); // its bits
    return is_float ? std::stoull(s.substr(2), nullptr, 16) : std::stoull(s, nullptr, 0);
}

// behind what lies there up to end -> where it begins
static size_t place(size_t & end, size_t n, size_t align) {
    const size_t begin = (end + align - 1)/align*align;
    end = begin + n;
    return begin;
}

// .shared .align 4 .b32 name[2][64]
struct variable {
    std::string name;
    size_t      n_element = 1, n = 1; // bytes
    size_t      align     = 0;

    explicit variable(const std::string & declaration) {
        std::istringstream words(declaration);
        for (std::string word; words >> word; name = word) {
            n_element = std::max(n_element, word[0] == '.' ? size_of(type_of(word.substr(1))) : 0);
        }
        n = n_element;
        const size_t bracket = name.find('[');
        for (size_t at = bracket; at != name.npos; at = name.find('[', at + 1)) {
            n *= name[at + 1] == ']' ? 0 : std::stoul(name.substr(at + 1));
        }
        name = name.substr(0, bracket);
        const size_t at = declaration.find(".align");
        const bool   is_pointer = declaration.find(".ptr") != declaration.npos; // .align is of what it points to
        align = at == declaration.npos || is_pointer ? n_element : std::stoul(declaration.substr(at + 6));
    }
};

static bool has(std::string_view s, std::string_view word) { return s.find(word) != s.npos; }

void module::add_variable(const std::string & statement) {
    const size_t equals = statement.find('=');
    const std::string head = statement.substr(0, equals);
    if (has(head, ".shared")) {
        shared.push_back(head);
    } else if (has(head, ".global") || has(head, ".const")) {
        const variable v(head);
        char * data = new char[v.n + 16]();
        constants[v.name].reset(data);
        add_constant(data, v.n);
        std::string values = equals == statement.npos ? "" : statement.substr(equals + 1);
        std::replace_if(values.begin(), values.end(), [](char c) { return c == '{' || c == '}'; }, ' ');
        for (const std::string & value : split(values)) {
            const uint64_t number = number_of(value);
            memcpy(data, &number, v.n_element);
            data += v.n_element;
        }
    }
}

module::module(const std::string & source_text) {
    std::istringstream lines(source_text.substr(source_text.find('\n', source_text.find(".address_size"))));
    for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find("//")) + '\n';

    for (size_t i = 0, end; (i = text.find_first_not_of(" \t\n", i)) != text.npos; i = end + 1) {
        const size_t stop = text.find_first_of("{;", i);
        if (text[stop] == ';' || text.find('=', i) < stop) {
            end = text.find(';', i);
            add_variable(text.substr(i, end - i));
            continue;
        }
        int depth = 0;
        for (end = stop; depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0, depth > 0;) ++end;

        const std::string_view head = std::string_view(text).substr(i, stop - i);
        if (const size_t entry = head.find(".entry"); entry != head.npos) {
            const size_t params = head.find('(', entry);
            sources[std::string(trim(head.substr(entry + 6, params - entry - 6)))] = {
                head.substr(params), std::string_view(text).substr(stop + 1, end - stop - 1)
            };
        }
    }
}

// bytes of a literal in operand i
static int literal_size(const instr & in, int i) {
    const bool is_shift = in.base == "shl" || in.base == "shr";
    if ((is_shift && i == 2) || (in.base == "bfe" && i > 1) || (in.base == "bfi" && i > 2) || in.base == "bar") {
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
        { "mma", kind::matrix }, { "fma", kind::fma }, { "div", kind::special }, { "rcp", kind::special }, { "sqrt", kind::special },
        { "rsqrt", kind::special }, { "ex2", kind::special }, { "lg2", kind::special }, { "sin", kind::special }, { "cos", kind::special },
        { "tanh", kind::special }, { "mov", kind::move }, { "cvt", kind::move }, { "cvta", kind::move }, { "selp", kind::move },
        { "cp", kind::global }, { "ldmatrix", kind::shared }, { "shfl", kind::exchange }, { "vote", kind::exchange },
        { "movmatrix", kind::exchange }, { "redux", kind::exchange }, { "bar", kind::barrier }, { "barrier", kind::barrier }, { "bra", kind::control }, { "ret", kind::control },
    };
    if (in.base == "ld" || in.base == "st" || in.base == "atom" || in.base == "red") {
        return in.where == space::shared ? kind::shared : in.where == space::param || in.where == space::local ? kind::move : kind::global;
    }
    const auto it = kinds.find(in.base);
    return it == kinds.end() ? kind::arithmetic : it->second;
}

namespace {

// one kernel in the making
struct assembler {
    program                           & p;
    std::map<std::string, uint64_t>     symbols;   // addresses
    std::map<std::string, int>          declared;  // sizes of registers, without the number of those that have one
    std::map<std::string, operand>      registers;
    std::map<std::pair<uint64_t, int>, operand> literals;
    std::map<std::string, int>          labels;
    std::vector<std::string>            targets;   // of each instruction
    std::vector<std::string>            dynamic;   // shared memory whose size the launch says

    operand add(int size) {
        return { .at = (uint32_t) place(p.n_registers, size > 0 ? N_LANES*size : 64, 1), .size = (uint8_t) size };
    }

    void add_shared(const std::string & declaration) {
        const variable v(declaration);
        if (v.n == 0) dynamic.push_back(v.name);
        symbols[v.name] = SHARED_BEGIN + place(p.n_shared, v.n, 16);
        for (const std::string & name : dynamic) symbols[name] = SHARED_BEGIN + (p.n_shared + 127)/128*128; // behind all others
    }

    // .reg .b32 %r<12>, x: blocks nest, and the latest declaration holds
    void declare_registers(const std::string & statement) {
        const size_t dot = statement.find('.', 1), names = statement.find_first_of(" \t", dot);
        for (const std::string & name : split(statement.substr(names))) {
            const std::string stem = name.substr(0, name.find('<'));
            declared[stem] = size_of(type_of(statement.substr(dot + 1, names - dot - 1)));
            registers.erase(stem);
        }
    }

    const operand * find_register(const std::string & name) {
        const auto [it, is_new] = registers.try_emplace(name);
        if (!is_new) return &it->second;

        auto size = declared.find(name);
        if (size == declared.end()) size = declared.find(name.substr(0, name.find_last_not_of("0123456789") + 1));
        const auto special = std::find(std::begin(SPECIALS), std::end(SPECIALS), name);
        if (size != declared.end()) {
            it->second = add(size->second);
        } else if (special != std::end(SPECIALS)) {
            it->second = add(4);
            p.specials.push_back({ int(special - SPECIALS), it->second.at });
        } else {
            registers.erase(it);
            return nullptr;
        }
        return &it->second;
    }

    operand literal_of(uint64_t value, int size) {
        if (size == 0) value = value ? ~0u : 0; // a predicate of all lanes
        const auto [it, is_new] = literals.try_emplace({ value, size });
        if (is_new) {
            it->second = add(size);
            p.literals.push_back({ it->second.at, uint8_t(size > 0 ? size : 4), value });
        }
        return it->second;
    }

    // size: of a literal. False: there is no such thing
    bool add_operand(instr & in, std::string text, int size) {
        operand o;
        int64_t offset = 0;
        if (text[0] == '[') {
            const size_t plus = text.find('+');
            if (plus != text.npos) offset = number_of(text.substr(plus + 1));
            text = trim(std::string_view(text).substr(1, std::min(plus, text.size() - 1) - 1));
            size = 8;
        }
        const bool is_not = text[0] == '!';
        if (text == "_") {
            o.is_bit_bucket = true;
        } else if (const operand * found = find_register(text.substr(is_not))) {
            o = *found;
        } else if (const auto it = symbols.find(text); it != symbols.end()) {
            o = literal_of(it->second, size);
        } else if (isdigit((unsigned char) text[text[0] == '-'])) {
            o = literal_of(number_of(text), size);
        } else {
            return false;
        }
        o.is_not = is_not;
        o.offset = offset;
        in.o.push_back(o);
        return true;
    }

    void add_instruction(std::string statement) {
        instr in;
        in.text = statement;
        if (statement[0] == '@') {
            const size_t end = statement.find_first_of(" \t");
            in.is_guarded = add_operand(in, statement.substr(1, end - 1), 0);
            in.guard      = in.o.at(0);
            in.o.clear();
            statement = trim(std::string_view(statement).substr(end));
        }
        const size_t name_end = std::min(statement.find_first_of(" \t\n"), statement.size());
        for (const std::string & part : split(statement.substr(0, name_end), '.')) {
            const auto name = std::find(std::begin(modifier::NAMES), std::end(modifier::NAMES), part);
            if (in.base.empty()) {
                in.base = part;
            } else if (const type t = type_of(part); t != type::none) {
                in.types.push_back(t);
            } else {
                in.mods.push_back(part);
                in.mod_bits |= name == std::end(modifier::NAMES) ? 0 : 1ull << (name - std::begin(modifier::NAMES));
            }
        }
        const std::string rest(trim(std::string_view(statement).substr(name_end)));
        targets.push_back(in.base == "bra" ? rest : "");

        bool is_known = true;
        int position = 0;
        for (const std::string & part : split(in.base == "bra" ? "" : rest)) {
            const bool is_vector = part[0] == '{';
            for (const std::string & piece : split(is_vector ? part.substr(1, part.size() - 2) : part, is_vector ? ',' : '|')) {
                is_known = is_known && add_operand(in, piece, literal_size(in, position));
            }
            if (position++ == 0) in.n_dst = in.o.size();
        }
        in.n_vec = in.base == "mov" ? in.o.size() - in.n_dst : in.has("v4") ? 4 : in.has("v2") ? 2 : 1;
        for (const auto find : { find_integer, find_float, find_convert, find_memory, find_warp, find_matrix }) {
            if (is_known && !in.run) in.run = find(in);
        }
        in.cost = kind_of(in);
        if (!in.run) in.run = [](warp &, const instr & i) { fault("an instruction that the interpreter does not know", &i); };
        in.o.resize(std::max<size_t>(in.o.size(), 5)); // families read what they may not use
        p.code.push_back(std::move(in));
    }

    void add_statement(std::string_view statement) {
        while (!(statement = trim(statement)).empty()) {
            const size_t n_name = statement.find_first_not_of("$_%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
            if (statement[0] == '{' || statement[0] == '}') {
                statement.remove_prefix(1);
            } else if (n_name != statement.npos && statement[n_name] == ':') {
                labels[std::string(statement.substr(0, n_name))] = p.code.size();
                statement.remove_prefix(n_name + 1);
            } else {
                break;
            }
        }
        const std::string text(statement);
        if (text.starts_with(".reg")) {
            declare_registers(text);
        } else if (text.starts_with(".shared")) {
            add_shared(text);
        } else if (text.starts_with(".local")) {
            const variable v(text);
            symbols[v.name] = place(p.n_local, v.n, 16);
        } else if (!text.empty() && text[0] != '.') {
            add_instruction(text);
        }
    }
};

}

program module::assemble(const std::string & name, const source & s) const {
    program p;
    p.name        = name;
    p.n_registers = 256; // what operands that are not there point to
    assembler a = { p, {}, {}, {}, {}, {}, {}, {} };
    for (const auto & [symbol, data] : constants) a.symbols[symbol] = (uint64_t) data.get();

    const size_t params_end = s.head.find(')');
    for (const std::string & param : split(s.head.substr(1, params_end - 1))) {
        const variable v(param);
        const size_t at = place(p.n_params, v.n, v.align);
        p.params.push_back({ at, v.n });
        a.symbols[v.name] = at;
    }
    if (const size_t at = s.head.find(".maxntid"); at != s.head.npos) {
        p.max_threads = 1;
        for (const std::string & n : split(s.head.substr(at + 8, s.head.find('\n', at) - at - 8))) p.max_threads *= std::stoi(n);
    }
    for (const std::string & declaration : shared) a.add_shared(declaration);

    for (size_t i = 0, end; i < s.body.size(); i = end + 1) {
        end = std::min(s.body.find(';', i), s.body.size());
        a.add_statement(s.body.substr(i, end - i));
    }
    for (size_t i = 0; i < p.code.size(); ++i) {
        if (!a.targets[i].empty()) p.code[i].target = a.labels.at(a.targets[i]);
    }
    return p;
}

const program * module::find(const std::string & name) {
    const auto s = sources.find(name);
    if (s == sources.end()) return nullptr;
    auto p = programs.find(name);
    if (p == programs.end()) p = programs.emplace(name, assemble(name, s->second)).first;
    return &p->second;
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
