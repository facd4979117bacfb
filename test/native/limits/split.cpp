// Texts are split by llama.cpp's own regular expressions, all of them, as std::regex splits them: unicode_regex_split asks it
// where there is no limit_work_scope.

#include "suite.h"
#include "testing.h"

#include "limit-regex.h"
#include "limit-work.h"
#include "unicode.h"

#include <fstream>
#include <iterator>
#include <string>

using expressions = std::vector<std::string>;

// the strings in llama-vocab.cpp's `regex_exprs = { ... };`
static std::vector<expressions> expressions_of_source() {
    std::ifstream     file(H2O_VOCAB_SOURCE);
    const std::string source{ std::istreambuf_iterator<char>(file), {} };

    std::vector<expressions> all;
    for (size_t at = 0; (at = source.find("regex_exprs = {", at)) != std::string::npos; ) {
        all.emplace_back();
        for (; source[at] != ';'; ++at) {
            if (source.compare(at, 2, "//") == 0) {
                at = source.find('\n', at);
            }
            if (source[at] != '"') {
                continue;
            }
            std::string & text = all.back().emplace_back();
            while (source[++at] != '"') {
                const char escaped = source[at] == '\\' ? source[++at] : '\0';
                text += escaped == 'r' ? '\r' : escaped == 'n' ? '\n' : escaped == 't' ? '\t' : source[at];
            }
        }
    }
    return all;
}

static std::string random_text(test_random & random) {
    static const std::vector<std::vector<std::string>> kinds = {
        { " ", " ", "  ", "    ", "\n", "\r", "\r\n", "\t", "\v", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000" },
        { "a", "z", "A", "Z", "x", "don't", "WE'LL", "\u00e9", "\u00c9", "\u00df", "\u042f", "\u044f", "\u01c5", "\u02b0", "\u05d0", "\ufb01", "\uff21" },
        { "0", "1", "7", "123", "1234567", "\u0967", "\u2461", "\u00bd", "\uff11" },
        { "'", "'s", "'Re", "!", "\"", "#", "$", "%", "(", ")", "*", "+", ",", "-", ".", "/", ":", ";", "<", "=", ">", "?", "@", "[", "\\", "]", "^", "_", "`", "{", "|", "}", "~" },
        { "\u00bf", "\u2026", "\u3001", "\u3002", "\uff0c", "\uff01", "\u060c", "\u2018", "\u20ac", "\u2713", "\U0001f600", "\U0001f468\u200d\U0001f469" },
        { "\u4e00", "\u6f22", "\u9fa5", "\u3042", "\u30a2", "\ud55c", "\u3131", "\u3105", "\u0800", "\u0e01", "\U00020000" },
        { "e\u0301", "\u0301", "\u093f", "\u200d", "\ufe0f", "\ufffd", "\U0010ffff", std::string(1, '\0'), "\x7f", "\xff" },
        { "<sentinel:12>", "<sentinel:", "IMGIMGABIZ", "IMGIMGABCDEZ" },
    };

    expressions some; // few of them, so that they meet often
    for (int n = random.integer(2, 8); n > 0; --n) {
        some.push_back(random.pick(random.pick(kinds)));
    }
    std::string text;
    for (int n = random.integer(1, 300); n > 0; --n) {
        const std::string piece = random.pick(some);
        for (int k = random.integer(0, 3) == 0 ? random.integer(2, 12) : 1; k > 0; --k) {
            text += piece;
        }
    }
    return text;
}

// under a limit that is as good as none
static std::vector<std::string> split(const std::string & text, const expressions & by) {
    limit_work             work;
    const limit_work_scope scope(work);
    return unicode_regex_split(text, by);
}

static bool is_known(const std::u32string & regex) {
    try {
        return !limit_regex_compile(regex).empty();
    } catch (const std::runtime_error &) {
        return false;
    }
}

static void test_random_texts() {
    const std::vector<expressions> all = expressions_of_source();
    CHECK(all.size() > 30);

    test_random random;
    for (const expressions & by : all) {
        for (int i = 0; i < 100; ++i) {
            const std::string text = random_text(random);
            CHECK(split(text, by) == unicode_regex_split(text, by));
        }
    }
}

static void test_odd_expressions() {
    for (const char32_t * odd : { U"a*?", U"(a*)*", U"(a|b", U"a)", U"[a", U"a++", U"\\w", U".", U"^a", U"[[:alpha:]]", U"[z-a]", U"a{2,", U"*", U"\\" }) {
        CHECK(!is_known(odd));
    }
}

static void test_limit() {
    limit_work work = { nullptr, 10'000'000 };
    const limit_work_scope scope(work);
    CHECK(unicode_regex_split(std::string(1'000'000, ' ') + "1", { "\\s+$" }).size() == 1); // each place once
    try {
        unicode_regex_split(std::string(100'000, '1'), { "(?=(\\d{3})+(?!\\d))" });
        CHECK(!"ended");
    } catch (const limit_work_too_long &) {}
}

static const suite cases("split", [](suite & s) {
    s.add("random texts",    test_random_texts);
    s.add("odd expressions", test_odd_expressions);
    s.add("limit",           test_limit);
});
