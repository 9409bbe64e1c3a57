// The dialects, each defined in the file of its name. To add one: its file, its line here, its row
// in dialects.cpp.
#pragma once

#include "text/dialect/dialect.h"

namespace hearth::text {

extern const Dialect hermes, qwen_xml, minicpm, minimax, glm, gemma, function_gemma, llama3,
    llama_pythonic, lfm, mistral, mistral_named, deepseek, deepseek_v31, deepseek_dsml, kimi,
    granite, command_r, harmony;

/// gpt-oss: the function that the header of a message names; empty when it names none.
std::string_view harmony_recipient(std::string_view header);

}  // namespace hearth::text
