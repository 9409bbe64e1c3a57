// The files of the built-in chat page, embedded when the program is built (page_files.cmake).
#pragma once

#include <array>
#include <string_view>

namespace hearth::server {

struct PageFile {
  std::string_view path;  // as in the route table
  std::string_view content_type;
  std::string_view bytes;
};

extern const std::array<PageFile, 3> page_files;

extern const std::string_view openapi_text;  // openapi.json

}  // namespace hearth::server
