// A JSON schema as a grammar: llama.cpp's own conversion (common/json-schema-to-grammar.cpp), made safe for any schema.

#pragma once

#include <string>

namespace addon {

// throws failure, ERR_H2O_INVALID_ARGUMENT, for what is no schema or one that has no grammar
std::string json_schema_grammar(const std::string & schema);

// A schema that json_schema_grammar has taken, for llama.cpp: what refers to the root as "#" names a member of it
std::string json_schema_named_root(const std::string & schema);

} // namespace addon
