#include "limit-split.h"

#include "limit-regex.h"
#include "limit-work.h"

#include <algorithm>
#include <map>
#include <type_traits>

namespace {

using op = limit_regex_op;

constexpr size_t no_match = SIZE_MAX;

// tries in the order of std::regex, with a stack of its own for where it may go back to
template <typename CharT>
class matcher {
public:
    matcher(const CharT * text, const std::vector<op> & program) : text(text), program(program) {}

    // of the part of the text that is looked at
    size_t end = 0;

    // the end of a match that begins at `pos` and does not end at `not_at`
    size_t match(size_t pos, size_t not_at = no_match) {
        const size_t found = run(program.data(), pos, not_at);
        poll();
        return found;
    }

    // the first place from `pos` on where a match begins; its end in `last`
    size_t search(size_t pos, size_t & last) {
        while (pos <= end && (last = match(pos)) == no_match) {
            pos = next(pos);
        }
        return pos <= end ? pos : no_match;
    }

private:
    struct choice {
        const op * from;
        size_t     pos;
        size_t     least; // it may go back to here, one by one
    };

    const CharT *           text;
    const std::vector<op> & program;
    std::vector<choice>     choices;
    uint64_t                n_steps = 0;

    void poll() {
        limit_work_poll(n_steps);
        n_steps = 0;
    }

    bool has(const op & o, size_t pos) const {
        return o.set.has((std::make_unsigned_t<CharT>) text[pos]);
    }

    size_t run_end(const op & o, size_t pos) const {
        const size_t last = o.n_most < end - pos ? pos + o.n_most : end;
        while (pos < last && has(o, pos)) {
            ++pos;
        }
        return pos;
    }

    // the last place to go back to where `o` may begin, or the first of all
    size_t last_begin(const op & o, const choice & back) {
        size_t pos = back.pos;
        if (o.kind == op::RUN && o.n_least > 0) {
            while (pos > back.least && !has(o, pos)) {
                --pos;
            }
        }
        n_steps += back.pos - pos;
        return pos;
    }

    // where there was no match, the rest of a run that it begins with has none either: it would end in fewer places
    size_t next(size_t pos) const {
        const op & first = program[0];
        const bool skips = first.kind == op::RUN && first.n_least > 0 && first.n_most == SIZE_MAX;
        return std::max(pos + 1, skips ? run_end(first, pos) : 0);
    }

    size_t run(const op * o, size_t pos, size_t not_at) {
        const size_t n_before = choices.size();

        for (;;) {
            bool matches = true;

            switch (o->kind) {
                case op::RUN: {
                    const size_t last = run_end(*o, pos);
                    matches = last - pos >= o->n_least;
                    n_steps += last - pos;
                    if (last - pos > o->n_least) {
                        choices.push_back({ o + 1, last - 1, pos + o->n_least });
                    }
                    pos = last;
                    o++;
                    break;
                }
                case op::SPLIT:
                    choices.push_back({ o + o->to, pos, pos });
                    o++;
                    break;
                case op::JUMP:
                    o += o->to;
                    break;
                case op::AHEAD:
                case op::NOT_AHEAD:
                    matches = (run(o + 1, pos, no_match) != no_match) == (o->kind == op::AHEAD);
                    o += o->to;
                    break;
                case op::END:
                    matches = pos == end;
                    o++;
                    break;
                case op::DONE:
                    matches = pos != not_at;
                    if (matches) {
                        choices.resize(n_before);
                        return pos;
                    }
                    break;
            }

            if (++n_steps >= 65536) {
                poll();
            }
            if (matches) {
                continue;
            }
            if (choices.size() == n_before) {
                return no_match;
            }
            choice & back = choices.back();
            o   = back.from;
            pos = last_begin(*o, back);
            if (pos > back.least) {
                back.pos = pos - 1;
            } else {
                choices.pop_back();
            }
        }
    }
};

// kept, as a text with many special tokens is many parts; the expressions are llama.cpp's own, some dozens
const std::vector<op> & program_of(const std::u32string & regex) {
    thread_local std::map<std::u32string, std::vector<op>> programs;

    const auto found = programs.find(regex);
    return found != programs.end() ? found->second : programs.emplace(regex, limit_regex_compile(regex)).first->second;
}

} // namespace

template <typename CharT>
bool limit_split(const std::basic_string<CharT> & text, const std::basic_string<CharT> & regex,
        const std::vector<size_t> & offsets, std::vector<size_t> & split) {
    if (!limit_work_scope::current()) {
        return false;
    }
    std::u32string wide;
    for (const CharT c : regex) {
        wide += (std::make_unsigned_t<CharT>) c;
    }
    matcher<CharT> matcher(text.data(), program_of(wide));

    size_t begin = 0;
    for (const size_t n : offsets) {
        const size_t end = begin + n;
        matcher.end = end;

        // behind an empty match it looks for one at the same place first, as std::regex_iterator does
        size_t last  = 0;
        size_t first = matcher.search(begin, last);
        while (first != no_match) {
            if (first > begin) {
                split.push_back(first - begin);
            }
            split.push_back(last - first);
            begin = last;

            if (first < last) {
                first = matcher.search(last, last);
            } else if (last == end) {
                break;
            } else if ((last = matcher.match(first, first)) == no_match) {
                first = matcher.search(first + 1, last);
            }
        }
        if (begin < end) {
            split.push_back(end - begin);
        }
        begin = end;
    }
    return true;
}

template bool limit_split(const std::string &,  const std::string &,  const std::vector<size_t> &, std::vector<size_t> &);
template bool limit_split(const std::wstring &, const std::wstring &, const std::vector<size_t> &, std::vector<size_t> &);
