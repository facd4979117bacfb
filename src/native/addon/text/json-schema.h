// A JSON schema as a grammar: llama.cpp's own conversion (common/json-schema-to-grammar.cpp), made safe for any schema.

#pragma once

#include <string>

namespace addon {

// throws failure, ERR_H2O_INVALID_ARGUMENT, for what is no schema or one that has no grammar
std::string json_schema_grammar(const std::string & schema);

} // namespace addon
