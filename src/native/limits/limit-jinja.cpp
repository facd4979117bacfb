#include "limit-jinja.h"

#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using jinja::is_val;
using jinja::value;

static size_t n_bytes(const jinja::value_t & val) {
    return val.val_str.length();
}

// a copy of the value, but not of what it holds
static uint64_t n_units_copy(const jinja::value_t & val) {
    return n_bytes(val)/4 + 8*val.val_str.parts.size() + 16*val.val_arr.size() + 64*val.val_obj.size();
}

// a naive search, sixteen bytes at a time
static void poll_find(size_t n_text, size_t n_part) {
    limit_work_poll((uint64_t) n_text*n_part/32 + n_text/4);
}

// All that a value holds, each time it is held: as whoever writes it out. No part of it may be `without`.
static void walk(const value & val, uint64_t n_units_item, const jinja::value_t * without) {
    const limit_jinja_depth depth(limit_jinja_depth::n_units_value);

    if (val.get() == without) {
        throw std::runtime_error("a list cannot hold itself");
    }
    limit_work_poll(n_bytes(*val)/16);
    for (const value & item : val->val_arr) {
        limit_work_poll(n_units_item);
        walk(item, n_units_item, without);
    }
    for (const auto & [key, item] : val->val_obj) {
        limit_work_poll(n_units_item);
        walk(key,  n_units_item, without);
        walk(item, n_units_item, without);
    }
}

// bytes of the text that is made of a value, written with so many more for each item
static void walk_text(const value & val, uint64_t n_bytes_item) {
    limit_work_poll(20*(uint64_t) n_bytes(*val));
    for (const value & item : val->val_arr) {
        limit_jinja_bytes(n_bytes_item);
        walk_text(item, n_bytes_item);
    }
    for (const auto & [key, item] : val->val_obj) {
        limit_jinja_bytes(n_bytes_item);
        walk_text(key,  n_bytes_item);
        walk_text(item, n_bytes_item);
    }
}

static uint64_t to_count(const value & val) {
    return is_val<jinja::value_int>(val) ? std::clamp<int64_t>(val->as_int(), 0, INT32_MAX) : 0;
}

static void poll_json(const jinja::func_args & call, const value & val) {
    const value indent     = call.get_kwarg_or_pos("indent",     2);
    const value separators = call.get_kwarg_or_pos("separators", 3);

    uint64_t n_item = 64;
    for (const value & text : separators->val_arr) {
        n_item += n_bytes(*text);
    }
    walk(val, 0, nullptr);
    walk_text(val, n_item + 8*to_count(indent)); // eight levels, as a mean
}

// upstream makes room in the middle of the text for each that it finds
static void poll_replace(const std::string & text, const std::string & part, const std::string & by) {
    poll_find(text.size(), part.size());

    uint64_t n_found = part.empty() ? text.size() + 1 : 0;
    for (size_t at = text.find(part); !part.empty() && at != std::string::npos; at = text.find(part, at + part.size())) {
        n_found++;
    }
    const uint64_t n_result = text.size() + n_found*by.size();

    limit_jinja_bytes(n_result);
    if (part.size() != by.size() && !part.empty()) {
        limit_work_poll(n_found*(n_result/32));
    }
}

// and moves the rest of it to the front for each part of a split one
static void poll_split(const std::string & text, const std::string & delim) {
    poll_find(text.size(), delim.size());

    const uint64_t n_parts = delim.empty() ? 0 : text.size()/delim.size();
    limit_work_poll(std::min<uint64_t>(n_parts, std::count(text.begin(), text.end(), delim[0]))*(text.size()/64));
}

static void poll_indent(const jinja::func_args & call, const std::string & text) {
    const value width = call.get_kwarg_or_pos("width", 1);

    const uint64_t n_lines = 1 + std::count(text.begin(), text.end(), '\n');
    const uint64_t n_width = is_val<jinja::value_string>(width) ? n_bytes(*width) : to_count(width);

    limit_jinja_bytes(text.size() + n_width*n_lines);
}

enum class sort_kind { none, number, text, other };

static sort_kind kind_of(const value & val) {
    if (is_val<jinja::value_int>(val) || is_val<jinja::value_float>(val)) {
        return std::isnan(val->as_float()) ? sort_kind::none : sort_kind::number;
    }
    return is_val<jinja::value_string>(val) ? sort_kind::text : sort_kind::other;
}

// std::sort leaves its bounds where a < b and b < c, but not a < c
static void check_order(const std::vector<value> & keys) {
    limit_work_poll(256*keys.size()*(1 + (uint64_t) std::log2(1 + keys.size())));

    for (const value & key : keys) {
        if (kind_of(key) == sort_kind::none || kind_of(key) != kind_of(keys[0])) {
            throw std::runtime_error("values of several kinds, or that are no number, cannot be sorted");
        }
    }
}

static void check_sort(const jinja::func_args & call, const value & list) {
    const value attribute = call.get_kwarg_or_pos("attribute", 3);

    std::vector<value> keys;
    for (const value & item : list->val_arr) {
        const bool by_index = is_val<jinja::value_int>(attribute)    && is_val<jinja::value_array> (item);
        const bool by_name  = is_val<jinja::value_string>(attribute) && is_val<jinja::value_object>(item);

        keys.push_back(by_index ? item->at(attribute->as_int()) : by_name ? item->at(attribute) : item);
    }
    check_order(keys);
}

static void check_dictsort(const jinja::func_args & call, const value & object) {
    const value by = call.get_kwarg_or_pos("by", 2);

    std::vector<value> keys;
    for (const auto & [key, val] : object->val_obj) {
        keys.push_back(is_val<jinja::value_string>(by) && by->as_string().str() == "value" ? val : key);
    }
    check_order(keys);
}

void limit_jinja_call(const std::string & name, const jinja::func_args & call) {
    const std::vector<value> & args = call.get_args();

    for (const value & arg : args) {
        limit_work_poll(n_units_copy(is_val<jinja::value_kwarg>(arg) ? *jinja::cast_val<jinja::value_kwarg>(arg)->val : *arg));
    }
    if (args.empty()) {
        return;
    }
    const value & self = args[0];

    const auto text = [&](size_t i, const char * by_default = "") {
        return i < args.size() && is_val<jinja::value_string>(args[i]) ? args[i]->as_string().str() : by_default;
    };

    if (name == "tojson" || name == "string" || name == "safe") {
        poll_json(call, self);
    } else if (name == "append" && args.size() > 1) {
        walk(args[1], 0, self.get());
    } else if (name == "replace") {
        poll_replace(text(0), text(1), text(2));
    } else if (name == "split" || name == "rsplit") {
        poll_split(text(0), text(1, " "));
    } else if (name == "strip" || name == "lstrip" || name == "rstrip") {
        const uint64_t n_parts = self->val_str.parts.size(); // each that is empty then is taken from the front of the rest
        limit_work_poll(16*n_parts*n_parts);
        limit_jinja_find(*self, *call.get_kwarg_or_pos("chars", 1));
    } else if (name == "indent") {
        poll_indent(call, text(0));
    } else if (name == "join") {
        walk(self, 0, nullptr);
        walk_text(self, n_bytes(*call.get_kwarg_or_pos("d", 1)));
    } else if (name == "sort") {
        check_sort(call, self);
    } else if (name == "dictsort") {
        check_dictsort(call, self);
    }
}

void limit_jinja_operands(const jinja::value_t & a, const jinja::value_t & b) {
    limit_work_poll(n_units_copy(a) + n_units_copy(b));
}

void limit_jinja_find(const jinja::value_t & text, const jinja::value_t & part) {
    poll_find(n_bytes(text), n_bytes(part));
}

void limit_jinja_assign(const value & val) {
    walk(val, 0, nullptr);
}

bool limit_jinja_divides(int64_t divisor, int64_t n) {
    if (divisor == 0) {
        throw std::runtime_error("division by zero");
    }
    return divisor == -1 || n % divisor == 0;
}
