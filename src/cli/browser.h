// Opening a page in the user's browser.
#pragma once

#include <optional>
#include <string>

#include "base/environment.h"
#include "cli/terminal.h"

namespace hearth::cli {

/// The program that would open a page: BROWSER, else the system's opener. None where no browser
/// should come up: not at a terminal, over SSH, without a display.
std::optional<std::string> browser_command(const Environment& environment, bool at_terminal);

/// Opens `url` there, in the background. A failure is logged and that is all.
void open_browser(const std::string& url, const Environment& environment, const Terminal& terminal);

}  // namespace hearth::cli
