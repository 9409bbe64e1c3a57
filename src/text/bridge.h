// rust/textbridge with owners and Results. Included by .cpp files of this folder alone.
#pragma once

#include <textbridge.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::text {

struct TokenizerFree {
  void operator()(tb_tokenizer* tokenizer) const { tb_tokenizer_free(tokenizer); }
};
struct TemplateFree {
  void operator()(tb_template* compiled) const { tb_template_free(compiled); }
};
using TokenizerHandle = std::unique_ptr<tb_tokenizer, TokenizerFree>;
using TemplateHandle = std::unique_ptr<tb_template, TemplateFree>;

inline const std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// Takes over what the bridge allocated.
std::string take(tb_bytes bytes);
std::vector<std::uint32_t> take(tb_ids ids);

/// The error of a status that is not TB_OK; `failed` is what TB_FAILED means here.
Error bridge_error(tb_status status, tb_bytes words, ErrorCode failed);

}  // namespace hearth::text
