#include "limit-regex.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

bool limit_regex_set::part::has(uint32_t c) const {
    const bool is_in = std::any_of(ranges.begin(), ranges.end(),
        [c](const auto & range) { return range.first <= c && c <= range.second; });
    return is_in != is_negated;
}

bool limit_regex_set::has(uint32_t c) const {
    if (c < low.size()) {
        return low[c];
    }
    return std::all_of(parts.begin(), parts.end(), [c](const part & p) { return p.has(c); });
}

namespace {

using op = limit_regex_op;

// of a part of the expression
struct code {
    std::vector<op> ops;
    size_t          n_least = 0; // characters that it takes at least

    void append(const code & other) {
        ops.insert(ops.end(), other.ops.begin(), other.ops.end());
        n_least += other.n_least;
    }
};

bool is_one_of_a_set(const op & o) {
    return o.kind == op::RUN && o.n_least == 1 && o.n_most == 1;
}

code one_of(limit_regex_set::part part) {
    op run = { op::RUN, 0, {}, 1, 1 };
    for (size_t c = 0; c < run.set.low.size(); ++c) {
        run.set.low[c] = part.has(c);
    }
    run.set.parts = { std::move(part) };
    return { { run }, 1 };
}

code alone(op::op_kind kind, ptrdiff_t to = 0) {
    return { { { kind, to, {}, 0, 0 } }, 0 };
}

// first, or else other
code either(const code & first, const code & other) {
    code all = alone(op::SPLIT, first.ops.size() + 2);
    all.append(first);
    all.append(alone(op::JUMP, other.ops.size() + 1));
    all.append(other);
    all.n_least = std::min(first.n_least, other.n_least);
    return all;
}

code repeated(const code & body, size_t n_least, size_t n_most) {
    code all;
    if (n_most == SIZE_MAX) {
        all = alone(op::SPLIT, body.ops.size() + 2);
        all.append(body);
        all.append(alone(op::JUMP, -(ptrdiff_t) body.ops.size() - 1));
    } else {
        for (size_t n = n_least; n < n_most; ++n) { // from the inside: each one more if there was one less
            code next = body;
            next.append(all);
            all = either(next, {});
        }
    }

    code before;
    for (size_t n = 0; n < n_least; ++n) {
        before.append(body);
    }
    all.n_least = 0;
    before.append(all);
    return before;
}

// a set that is looked at and then taken is one set: (?=[\p{L}])([^a-z])
void join_sets(std::vector<op> & ops) {
    const size_t n = ops.size();
    if (n < 4 || ops[n - 4].kind != op::AHEAD || !is_one_of_a_set(ops[n - 3]) || ops[n - 2].kind != op::DONE ||
        !is_one_of_a_set(ops[n - 1])) {
        return;
    }
    op joined = ops[n - 1];
    for (const limit_regex_set::part & part : ops[n - 3].set.parts) {
        joined.set.parts.push_back(part);
    }
    joined.set.low &= ops[n - 3].set.low;
    ops.resize(n - 4);
    ops.push_back(joined);
}

class parser {
public:
    explicit parser(const std::u32string & text) : text(text) {}

    std::vector<op> program() {
        code all = alternatives();
        require(at == text.size());
        all.append(alone(op::DONE));
        return all.ops;
    }

private:
    const std::u32string & text;
    size_t                 at = 0;

    static void require(bool is_known) {
        if (!is_known) {
            throw std::runtime_error("a regular expression of the tokenizer is not known");
        }
    }

    bool accept(const std::u32string & next) {
        const bool is_next = text.compare(at, next.size(), next) == 0;
        at += is_next ? next.size() : 0;
        return is_next;
    }

    char32_t take() {
        require(at < text.size());
        return text[at++];
    }

    bool is_at_any(const std::u32string & of) const {
        return at < text.size() && of.find(text[at]) != std::u32string::npos;
    }

    code alternatives() {
        const code first = sequence();
        return accept(U"|") ? either(first, alternatives()) : first;
    }

    code sequence() {
        code all;
        while (at < text.size() && !is_at_any(U"|)")) {
            all.append(quantified());
            join_sets(all.ops);
        }
        return all;
    }

    code quantified() {
        code   body    = atom();
        size_t n_least = 1;
        size_t n_most  = 1;

        if (!is_at_any(U"*+?{")) {
            return body;
        }
        switch (take()) {
            case '*': n_least = 0; n_most = SIZE_MAX; break;
            case '+': n_least = 1; n_most = SIZE_MAX; break;
            case '?': n_least = 0; n_most = 1;        break;
            default:
                n_least = number();
                n_most  = accept(U",") ? number() : n_least;
                require(accept(U"}") && n_least <= n_most);
        }
        require(body.n_least > 0 && !is_at_any(U"*+?{")); // neither lazy nor for ever

        if (body.ops.size() > 1 || !is_one_of_a_set(body.ops[0])) {
            return repeated(body, n_least, n_most);
        }
        body.ops[0].n_least = n_least;
        body.ops[0].n_most  = n_most;
        body.n_least        = n_least;
        return body;
    }

    size_t number() {
        size_t n = 0;
        require(is_at_any(U"0123456789"));
        while (is_at_any(U"0123456789")) {
            n = n * 10 + (take() - '0');
            require(n <= 4096);
        }
        return n;
    }

    code atom() {
        if (accept(U"(?=")) {
            return ahead(op::AHEAD);
        }
        if (accept(U"(?!")) {
            return ahead(op::NOT_AHEAD);
        }
        if (accept(U"(?:") || accept(U"(")) {
            return group();
        }
        if (accept(U"[")) {
            return set();
        }
        if (accept(U"$")) {
            return alone(op::END);
        }
        require(!is_at_any(U".^*+?{}]"));

        if (accept(U"\\S")) {
            return one_of({ class_of('s'), true });
        }
        return one_of({ element(), false });
    }

    code group() {
        code body = alternatives();
        require(accept(U")"));
        return body;
    }

    code ahead(op::op_kind kind) {
        const code body = group();
        code       all  = alone(kind, body.ops.size() + 2);
        all.append(body);
        all.append(alone(op::DONE));
        all.n_least = 0;
        return all;
    }

    code set() {
        limit_regex_set::part part = { {}, accept(U"^") };
        while (!accept(U"]")) {
            require(!is_at_any(U"["));
            auto ranges = element();
            if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') {
                at += 1;
                const auto last = element();
                require(is_character(ranges) && is_character(last) && ranges[0].first <= last[0].first);
                ranges[0].second = last[0].first;
            }
            part.ranges.insert(part.ranges.end(), ranges.begin(), ranges.end());
        }
        return one_of(part);
    }

    using range_list = std::vector<std::pair<uint32_t, uint32_t>>;

    static bool is_character(const range_list & ranges) {
        return ranges.size() == 1 && ranges[0].first == ranges[0].second;
    }

    static range_list class_of(char32_t name) {
        return name == 's' ? range_list{ { '\t', '\r' }, { ' ', ' ' } } : range_list{ { '0', '9' } };
    }

    // a character or a class that an escape names
    range_list element() {
        char32_t c = take();
        if (c == '\\') {
            c = take();
            if (c == 's' || c == 'd') {
                return class_of(c);
            }
            const bool is_letter = c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
            require(!is_letter || c == 'r' || c == 'n' || c == 't');
            c = c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        return { { c, c } };
    }
};

} // namespace

std::vector<limit_regex_op> limit_regex_compile(const std::u32string & regex) {
    return parser(regex).program();
}
