#include "json-schema.h"

#include "assertion.h"
#include "deep-stack.h"
#include "failure.h"
#include "json-depth.h"

#include "json-schema-to-grammar.h"

#include <algorithm>

namespace addon {

// every level is a rule whose name begins with that of the level above
static constexpr size_t depth_max = 256;

// the conversion of "allOf" follows a reference until it comes to something else
static void refuse_circles(const common_chat_schema_document & document) {
    for (const auto & entry : document.refs) {
        const common_chat_schema * node = entry.second.get();
        for (size_t n = 0; node && node->kind() == common_chat_schema::KIND_REF; ++n) {
            if (n > document.refs.size()) {
                throw std::invalid_argument("$ref " + entry.first + " refers to itself");
            }
            node = static_cast<const common_chat_schema_ref *>(node)->target;
        }
    }
}

static std::string convert(const std::string & schema) {
    const assertion_scope scope(assertion_scope::plain);

    const common_chat_schema_document document = common_chat_schema_from_json(common_json::parse(schema));
    refuse_circles(document);

    return json_schema_to_grammar(document);
}

// a schema of many references recurses from each to the next, and one of many optional properties for each of them
static size_t stack_bytes(const std::string & schema) {
    return (size_t) 4096 * std::count(schema.begin(), schema.end(), ':') + (8 << 20);
}

std::string json_schema_grammar(const std::string & schema) {
    if (json_depth(schema) > depth_max) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "the JSON schema is nested too deeply",
            {{"deepest", (double) depth_max}});
    }

    std::string grammar;
    try {
        if (run_on_stack(stack_bytes(schema), [&] { grammar = convert(schema); })) {
            return grammar;
        }
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", std::string("the JSON schema is refused: ") + err.what());
    }
    throw failure("ERR_H2O_INVALID_ARGUMENT", "the JSON schema is too long");
}

} // namespace addon
