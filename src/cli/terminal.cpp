#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace hearth::cli {
namespace {

bool wants_colour(const Environment& environment, bool is_terminal) {
  if (environment.get("NO_COLOR")) return false;
  const auto forced = [&](const char* name) { return environment.get_or(name, "0") != "0"; };
  if (forced("CLICOLOR_FORCE") || forced("FORCE_COLOR")) return true;
  return is_terminal && environment.get_or("TERM", "dumb") != "dumb";
}

int columns_of(const Environment& environment) {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(environment.get_or("COLUMNS", "80").c_str());
  return columns > 0 ? columns : 80;
}

/// Writes it all, or says why not: 0, or errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string_view code(Style style) {
  switch (style) {
    case Style::plain:
      return "0";
    case Style::bold:
      return "1";
    case Style::dim:
      return "2";
    case Style::red:
      return "31";
    case Style::green:
      return "32";
    case Style::yellow:
      return "33";
    case Style::cyan:
      return "36";
  }
  return "0";
}

std::string paint(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::plain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code(style), text);
}

}  // namespace

Terminal::Terminal(const Environment& environment)
    : in_(::isatty(STDIN_FILENO) == 1), out_(::isatty(STDOUT_FILENO) == 1),
      err_(::isatty(STDERR_FILENO) == 1), colour_err_(wants_colour(environment, err_)),
      colour_out_(wants_colour(environment, out_)), columns_(columns_of(environment)) {}

bool Terminal::out(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0) return true;
  if (error == EPIPE) return false;
  throw std::system_error(error, std::generic_category(), "standard output");
}

void Terminal::err(std::string_view text) { write_all(STDERR_FILENO, text); }

void Terminal::note(std::string_view line) {
  write_all(STDERR_FILENO, fmt::format("{}\n", line));  // nobody left to tell when this fails
}

void Terminal::warn(std::string_view message) {
  note(fmt::format("hearth: {} {}", paint_err("warning:", Style::yellow), message));
}

std::string Terminal::paint_err(std::string_view text, Style style) const {
  return paint(text, style, colour_err_);
}

std::string Terminal::paint_out(std::string_view text, Style style) const {
  return paint(text, style, colour_out_);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    // U+0080..U+009F, the eight-bit controls, are C2 80..C2 9F in UTF-8.
    const bool wide_control =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (wide_control) ++i;
    if (!control && !wide_control) out.push_back(text[i]);
  }
  return out;
}

}  // namespace hearth::cli
