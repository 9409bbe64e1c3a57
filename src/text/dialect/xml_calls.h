// Calls whose arguments stand one by one between markers, as in XML.
#pragma once

#include <string_view>

#include "text/dialect/dialect.h"

namespace hearth::text {

struct XmlShape {
  std::string_view wrapper;                          // may open the call; empty: none
  std::string_view function_open, function_close;    // `<function=` NAME ... `</function>`
  std::string_view parameter_open, parameter_close;  // `<parameter=` KEY ... `</parameter>`
  bool quoted = false;           // NAME and KEY end with a quote; other attributes may follow
  bool cdata = false;            // values may hold <![CDATA[...]]> and entities
  std::string_view also_closes;  // ends the call where function_close is missing
};

/// One call; see Dialect::scan.
Scan scan_xml_call(std::string_view text, const XmlShape& shape, const ToolSet& tools,
                   Ending ending);

/// Without one newline at either end.
std::string_view without_outer_newlines(std::string_view text);

}  // namespace hearth::text
