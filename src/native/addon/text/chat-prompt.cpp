#include "chat-prompt.h"

#include "generic-tools.h"
#include "json-extent.h"
#include "json-schema.h"
#include "model/vocab.h"
#include "runtime/deep-stack.h"
#include "runtime/failure.h"

#include "limit-work.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <regex>

namespace addon {

static constexpr size_t template_bytes_max = 1 << 18;

// what a sampler may take (sampler.h): some ten seconds, and less than 2 GB
static constexpr uint64_t n_chat_work = 10ull * 1000 * 1000 * 1000;

// llama.cpp quotes what it refuses as a whole
static std::string begin_of(const std::string & text) {
    constexpr size_t n_max = 500;

    size_t n = std::min(text.size(), n_max);
    while (n > 0 && n < text.size() && (text[n] & 0xc0) == 0x80) {
        --n; // not within a character
    }
    return n == text.size() ? text : text.substr(0, n) + " ...";
}

static common_json parse_flat(const std::string & json, const char * name) {
    json_extent::of(json).refuse_large(name);
    return json.empty() ? common_json() : common_json::parse(json);
}

static std::vector<common_chat_msg> messages_of(const chat_request & request) {
    std::vector<common_chat_msg> messages =
        common_chat_msgs_parse_oaicompat(parse_flat(request.messages, "what is in messages"));

    for (const common_chat_msg & message : messages) {
        for (const common_chat_tool_call & call : message.tool_calls) {
            json_extent::of(call.arguments).refuse_large("an argument of a tool call");
        }
    }
    return messages;
}

// llama.cpp's own reader writes all tools down, indented, where one of them is wrong
static common_chat_tool tool_of(const common_json & tool, const std::string & name) {
    const auto refuse = [&](const char * why) { return failure("ERR_H2O_INVALID_ARGUMENT", name + why); };

    if (!tool.is_object() || !tool.contains("type") || tool.at("type") != "function") {
        throw refuse(" is not { type: 'function', function }");
    }
    if (!tool.contains("function") || !tool.at("function").is_object()) {
        throw refuse(" has no function");
    }
    const common_json & function = tool.at("function");
    if (!function.contains("name") || !function.at("name").is_string()) {
        throw refuse(".function has no name");
    }
    const common_json description = function.value("description", common_json());
    if (!description.is_null() && !description.is_string()) {
        throw refuse(".function.description is no text");
    }
    // the conversion to a grammar is where an invalid schema comes to light
    json_schema_grammar(common_chat_tool_parameters(function).dump());

    return {
        function.at("name").get<std::string>(),
        description.is_null() ? "" : description.get<std::string>(),
        function.value("parameters", common_json::object()).dump(),
    };
}

static std::vector<common_chat_tool> tools_of(const chat_request & request) {
    const common_json json = parse_flat(request.tools, "what is in tools");
    if (!json.is_null() && !json.is_array()) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", "tools is no list");
    }

    std::vector<common_chat_tool> tools;
    for (size_t i = 0; i < json.size(); ++i) {
        tools.push_back(tool_of(json.at(i), "tools[" + std::to_string(i) + "]"));
    }
    return tools;
}

static std::string schema_of(const chat_request & request) {
    if (request.json_schema.empty()) {
        return "";
    }
    json_schema_grammar(request.json_schema); // throws for what is none
    return json_schema_named_root(request.json_schema);
}

static common_chat_templates_inputs inputs_of(const chat_request & request) {
    common_chat_templates_inputs inputs;

    try {
        inputs.messages    = messages_of(request);
        inputs.tools       = tools_of(request);
        inputs.tool_choice = common_chat_tool_choice_parse_oaicompat(request.tool_choice);

        inputs.json_schema           = schema_of(request);
        inputs.grammar               = request.grammar;
        inputs.parallel_tool_calls   = request.parallel_tool_calls > 0;
        inputs.add_generation_prompt = request.add_generation_prompt;
        inputs.reasoning_format      = common_reasoning_format_from_name(request.reasoning_format);
        if (request.continue_final_message) {
            inputs.continue_final_message = COMMON_CHAT_CONTINUATION_AUTO;
            inputs.add_generation_prompt  = false;
        }

        const common_json variables = parse_flat(request.variables, "what is in variables");
        for (const auto & [name, value] : variables.items()) {
            inputs.chat_template_kwargs[name] = value.dump();
            if (name == "enable_thinking" && value.is_boolean()) {
                inputs.enable_thinking = value.get<bool>();
            }
        }
    } catch (const failure &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_aborted &) {
        throw;
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_INVALID_ARGUMENT", begin_of(err.what()));
    }
    return inputs;
}

// A template that llama.cpp finds no parser for is one whose answers are text
static common_chat_params apply(const common_chat_templates * templates, common_chat_templates_inputs inputs) {
    try {
        return common_chat_templates_apply(templates, inputs);
    } catch (const std::invalid_argument &) {
        if (!inputs.tools.empty()) {
            throw;
        }
    }
    inputs.force_pure_content = true;
    common_chat_params params = common_chat_templates_apply(templates, inputs);
    if (inputs.continue_final_message != COMMON_CHAT_CONTINUATION_NONE) {
        params.prompt += params.generation_prompt + inputs.messages.back().render_content(); // llama.cpp leaves both out
    }
    return params;
}

static std::vector<llama_token> tokens_of(const llama_vocab * vocab, const std::string & text) {
    return common_tokenize(vocab, text, false, true);
}

static std::string escape(const std::string & word) {
    static const std::regex special("[.^$|()*+?\\[\\]{}\\\\]");
    return std::regex_replace(word, special, "\\$&");
}

static std::string anchor(const std::string & pattern) {
    if (pattern.empty()) {
        return "^$";
    }
    return (pattern.front() != '^' ? "^" : "") + pattern + (pattern.back() != '$' ? "$" : "");
}

// as in llama.cpp's server and common_sampler_init; a word of one token is that token
static void add_trigger(chat_prompt & prompt, const llama_vocab * vocab, const common_grammar_trigger & trigger) {
    grammar_rules & rules = prompt.rules;

    if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD) {
        const std::vector<llama_token> tokens = tokens_of(vocab, trigger.value);
        if (tokens.size() == 1) {
            rules.trigger_tokens.push_back(tokens[0]);
            prompt.shown.insert(tokens[0]);
        } else {
            rules.trigger_patterns.push_back(escape(trigger.value));
        }
    } else if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN) {
        rules.trigger_tokens.push_back(trigger.token);
    } else if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_PATTERN_FULL) {
        rules.trigger_patterns.push_back(anchor(trigger.value));
    } else {
        rules.trigger_patterns.push_back(trigger.value);
    }
}

// the tokenizer may put a space before the first of them
static std::vector<llama_token> prefix_of(const llama_vocab * vocab, const std::string & text) {
    std::vector<llama_token> tokens = tokens_of(vocab, text);

    const std::string first = tokens.empty() ? "" : vocab_piece(vocab, tokens[0], true);
    if (!first.empty() && std::isspace((unsigned char) first[0]) && !std::isspace((unsigned char) text[0])) {
        tokens.erase(tokens.begin());
    }
    return tokens;
}

// the caller's own grammar knows nothing of the prompt, nor of thoughts
static grammar_rules rules_of(const llama_vocab * vocab, const chat_request & request, const common_chat_params & params) {
    grammar_rules rules;
    if (params.grammar.empty() || params.grammar == request.grammar) {
        rules.text = request.json_schema.empty() ? request.grammar : json_schema_grammar(request.json_schema);
        return rules;
    }

    rules.text    = params.grammar;
    rules.is_lazy = params.grammar_lazy;
    rules.prefix  = prefix_of(vocab, params.generation_prompt);
    if (!params.thinking_start_tag.empty()) {
        rules.thinking_start = tokens_of(vocab, params.thinking_start_tag);
    }
    for (const std::string & tag : params.thinking_end_tags) {
        rules.thinking_ends.push_back(tokens_of(vocab, tag));
    }
    return rules;
}

static chat_prompt prompt_of(const llama_vocab * vocab, const chat_request & request, const common_chat_params & params) {
    chat_prompt prompt;
    prompt.text   = params.prompt;
    prompt.stops  = params.additional_stops;
    prompt.parser = common_chat_parser_params(params);
    if (!params.parser.empty()) {
        prompt.parser.parser.load(params.parser);
    }
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE) {
        return prompt;
    }

    for (const std::string & word : params.preserved_tokens) {
        const std::vector<llama_token> tokens = tokens_of(vocab, word);
        if (tokens.size() == 1) {
            prompt.shown.insert(tokens[0]);
        }
    }
    prompt.rules = rules_of(vocab, request, params);
    if (prompt.rules.is_lazy) {
        for (const common_grammar_trigger & trigger : params.grammar_triggers) {
            add_trigger(prompt, vocab, trigger);
        }
    }
    return prompt;
}

// what is no Jinja is thrown here with the reason, which common_chat_templates_init loses
static common_chat_templates_ptr init_templates(const llama_model * model, const std::string & given) {
    const char * own = llama_model_chat_template(model, nullptr);

    common_chat_template(given.empty() && own ? own : given, "", "");

    return common_chat_templates_init(model, given);
}

static chat_prompt apply_request(const llama_model * model, const chat_request & request) {
    common_chat_templates_inputs inputs = inputs_of(request);
    try {
        common_chat_templates_ptr templates = init_templates(model, request.template_text);
        if (needs_generic_tools(templates.get(), inputs)) {
            templates = init_templates(model, with_generic_tools(common_chat_templates_source(templates.get())));
        }
        if (request.parallel_tool_calls < 0) {
            inputs.parallel_tool_calls = common_chat_templates_get_caps(templates.get())["supports_parallel_tool_calls"];
        }
        const common_chat_params params = apply(templates.get(), inputs);
        if (inputs.tool_choice == COMMON_CHAT_TOOL_CHOICE_REQUIRED && params.grammar.empty()) {
            throw std::runtime_error("it knows no tools, and a call of one is required");
        }

        chat_prompt prompt = prompt_of(llama_model_get_vocab(model), request, params);
        prompt.parser.reasoning_format = inputs.reasoning_format;
        prompt.parser.is_continuation  = request.continue_final_message;
        prompt.parser.parse_tool_calls = inputs.tool_choice != COMMON_CHAT_TOOL_CHOICE_NONE;
        return prompt;
    } catch (const failure &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const limit_work_aborted &) {
        throw;
    } catch (const std::exception & err) {
        throw failure("ERR_H2O_CHAT_TEMPLATE", std::string("the chat template fails: ") + err.what());
    }
}

// The parser of templates recurses a dozen functions deep for every bracket, and its tree is as deep as a chain of
// operators is long. A schema recurses from each reference to the next.
static size_t stack_bytes(size_t n_template, const std::string & tools) {
    const json_extent extent = json_extent::of(tools);
    return (64 << 20) + 4096*(n_template + extent.names) + 1024*extent.text;
}

chat_prompt apply_chat_template(const llama_model * model, const chat_request & request) {
    size_t n_template = request.template_text.size();
    if (request.template_text.empty()) {
        for (const char * name : { (const char *) nullptr, "tool_use" }) {
            const char * text = llama_model_chat_template(model, name);
            n_template += text ? strlen(text) : 0;
        }
    }

    limit_work             work = { request.is_aborted, n_chat_work };
    const limit_work_scope scope(work);

    chat_prompt prompt;
    if (n_template <= template_bytes_max &&
            run_on_stack(stack_bytes(n_template, request.tools), [&] { prompt = apply_request(model, request); })) {
        return prompt;
    }
    throw failure("ERR_H2O_CHAT_TEMPLATE", "the chat template, or the tools, are too long",
        {{"bytes", (double) (n_template + request.tools.size())}});
}

} // namespace addon
