#include "json-schema.h"

#include "json-extent.h"
#include "runtime/deep-stack.h"
#include "runtime/failure.h"

#include "limit-work.h"
#include "json-schema-to-grammar.h"

#include <unordered_set>

namespace addon {

// what the parser of grammars reads in a second or so
static constexpr size_t grammar_bytes_max = 16 << 20;

static failure refusal(const std::string & why, std::vector<failure_detail> details = {}) {
    return failure("ERR_H2O_INVALID_ARGUMENT", "the JSON schema is refused: " + why, std::move(details));
}

// the conversion of "allOf" follows a reference until it comes to something else
static void refuse_circles(const common_chat_schema_document & document) {
    std::unordered_set<const common_chat_schema *> good;

    for (const auto & entry : document.refs) {
        std::unordered_set<const common_chat_schema *> chain;

        const common_chat_schema * node = entry.second.get();
        while (node && node->kind() == common_chat_schema::KIND_REF && !good.count(node)) {
            if (!chain.insert(node).second) {
                throw std::invalid_argument("$ref " + entry.first + " refers to itself");
            }
            node = static_cast<const common_chat_schema_ref *>(node)->target;
        }
        good.merge(chain);
    }
}

// "#" becomes "#/", which is the root's member "": whether there was one
static bool rename_root(common_json & node) {
    bool found = false;
    if (node.is_array()) {
        for (common_json & item : node) {
            found = rename_root(item) || found;
        }
    } else if (node.is_object()) {
        for (const auto & [key, value] : node.items()) {
            if (key == "$ref" && value == "#") {
                value = "#/";
                found = true;
            } else if (key != "const" && key != "enum" && key != "default" && key != "examples") {
                found = rename_root(value) || found;
            }
        }
    }
    return found;
}

// llama.cpp's references name members of the schema, and not the schema itself
static common_json named_root(common_json schema) {
    if (rename_root(schema)) {
        const common_json copy = schema;
        schema[""] = copy;
    }
    return schema;
}

static std::string convert(const std::string & schema) {
    const common_chat_schema_document document = common_chat_schema_from_json(named_root(common_json::parse(schema)));
    refuse_circles(document);

    return json_schema_to_grammar(document);
}

// A schema of many references recurses from each to the next, one of many optional properties for each of them. Names
// are matched with std::regex, which recurses for every character
static size_t stack_bytes(const json_extent & extent) {
    return 4096*extent.names + 1024*extent.text + (16 << 20);
}

// throws what the conversion throws
static std::string convert_deep(const std::string & schema, const json_extent & extent) {
    std::string grammar;
    if (!run_on_stack(stack_bytes(extent), [&] { grammar = convert(schema); })) {
        throw refusal("it is too long");
    }
    if (grammar.size() > grammar_bytes_max) {
        throw refusal("its grammar is too long", {{"bytes", (double) grammar.size()}});
    }
    return grammar;
}

std::string json_schema_named_root(const std::string & schema) {
    return named_root(common_json::parse(schema)).dump();
}

std::string json_schema_grammar(const std::string & schema) {
    const json_extent extent = json_extent::of(schema);
    extent.refuse_large("the JSON schema is refused: it");

    try {
        return convert_deep(schema, extent);
    } catch (const failure &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_aborted &) {
        throw;
    } catch (const limit_work_too_deep &) {
        throw refusal("it is nested too deeply, or what it has in allOf leads back to itself");
    } catch (const limit_work_too_long & err) {
        throw refusal(std::string(err.what()) + ": let it have fewer optional properties, patterns and allOf in each other");
    } catch (const std::exception & err) {
        throw refusal(err.what());
    }
}

} // namespace addon
