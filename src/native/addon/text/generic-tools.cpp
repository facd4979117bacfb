#include "generic-tools.h"

#include <algorithm>

namespace addon {

static const char * const preamble = R"(
{%- macro h2o_text(content) -%}
{%- if content is string -%}{{ content }}{%- elif content -%}
{%- for part in content -%}{{ part.text }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- set h2o = namespace(messages=[], about='', results='') -%}
{%- if tools -%}
{%- set h2o.about = "You can call functions. They are described by these JSON schemas, one a line:\n<functions>" -%}
{%- for tool in tools -%}{%- set h2o.about = h2o.about + "\n" + (tool | tojson) -%}{%- endfor -%}
{%- set h2o.about = h2o.about + "\n</functions>\nTo call a function, write <call>, then JSON with its name and arguments, then </call>. Nothing else is a call.\n<call>{\"name\": \"function_name\", \"arguments\": {\"argument\": \"value\"}}</call>" -%}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{%- set h2o.results = h2o.results + ("\n" if h2o.results else "") + "<result>\n" + h2o_text(message.content) + "\n</result>" -%}
{%- if loop.last or messages[loop.index].role != 'tool' -%}
{%- set _ = h2o.messages.append({'role': 'user', 'content': h2o.results}) -%}
{%- set h2o.results = '' -%}
{%- endif -%}
{%- elif message.tool_calls -%}
{%- set call_text = namespace(all=h2o_text(message.content)) -%}
{%- for call in message.tool_calls -%}
{%- set arguments = call.function.arguments -%}
{%- set arguments = arguments if arguments is string else (arguments | tojson) -%}
{%- set call_text.all = call_text.all + ("\n" if call_text.all else "") + "<call>{\"name\": " + (call.function.name | tojson) + ", \"arguments\": " + arguments + "}</call>" -%}
{%- endfor -%}
{%- set _ = h2o.messages.append({'role': message.role, 'content': call_text.all}) -%}
{%- elif h2o.about and (message.role == 'system' or message.role == 'user') -%}
{%- set text = h2o_text(message.content) -%}
{%- set text = text + "\n\n" + h2o.about if message.role == 'system' else h2o.about + "\n\n" + text -%}
{%- set _ = h2o.messages.append({'role': message.role, 'content': text}) -%}
{%- set h2o.about = '' -%}
{%- else -%}
{%- set _ = h2o.messages.append(message) -%}
{%- endif -%}
{%- endfor -%}
{%- set messages = h2o.messages -%}
)";

bool needs_generic_tools(const common_chat_templates * templates, const common_chat_templates_inputs & inputs) {
    const bool holds_calls = std::any_of(inputs.messages.begin(), inputs.messages.end(),
        [](const common_chat_msg & message) { return !message.tool_calls.empty() || message.role == "tool"; });
    if (inputs.tools.empty() && !holds_calls) {
        return false;
    }

    auto caps = common_chat_templates_get_caps(templates);
    return (!inputs.tools.empty() && !caps["supports_tools"]) || (holds_calls && !caps["supports_tool_calls"]);
}

std::string with_generic_tools(const std::string & source) {
    return preamble + source;
}

} // namespace addon
