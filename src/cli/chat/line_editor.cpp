#include "cli/chat/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/folders.h"

namespace hearth::cli {
namespace {

/// libedit reads characters as the locale spells them: that must be UTF-8.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

class TerminalEditor : public LineEditor {
 public:
  explicit TerminalEditor(std::filesystem::path history_file) : file_(std::move(history_file)) {
    use_utf8();
    edit_ = ::el_init("hearth", stdin, stderr, stderr);
    history_ = ::history_init();
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, 1000);
    ::history(history_, &event, H_SETUNIQUE, 1);
    ::history(history_, &event, H_LOAD, file_.c_str());
    ::el_set(edit_, EL_CLIENTDATA, this);
    ::el_set(edit_, EL_PROMPT, &TerminalEditor::prompt_of);
    ::el_set(edit_, EL_EDITOR, "emacs");
    ::el_set(edit_, EL_HIST, ::history, history_);
    ::el_set(edit_, EL_ADDFN, "hearth-cancel", "give the line up", &TerminalEditor::cancel);
    ::el_set(edit_, EL_BIND, "^C", "hearth-cancel", nullptr);
    ::el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    // While a line is edited, Ctrl-C is a key like any other.
    ::el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
  }

  ~TerminalEditor() override {
    ::el_end(edit_);
    ::history_end(history_);
  }

  Line read(const std::string& prompt) override {
    prompt_ = prompt;
    cancelled_ = false;
    int length = 0;
    const char* const text = ::el_gets(edit_, &length);
    if (cancelled_) {
      std::fputs("^C\n", stderr);
      return {Line::Kind::interrupted, ""};
    }
    if (text == nullptr || length <= 0) return {Line::Kind::end, ""};
    std::string line(text, static_cast<std::size_t>(length));
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    return {Line::Kind::text, std::move(line)};
  }

  void remember(const std::string& entry) override {
    HistEvent event;
    ::history(history_, &event, H_ENTER, entry.c_str());
    if (!make_private_folder(file_.parent_path())) return;
    const mode_t before = ::umask(0077);
    ::history(history_, &event, H_SAVE, file_.c_str());
    ::umask(before);
  }

 private:
  static TerminalEditor& self(EditLine* edit) {
    void* data = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<TerminalEditor*>(data);
  }
  static char* prompt_of(EditLine* edit) { return self(edit).prompt_.data(); }
  static unsigned char cancel(EditLine* edit, int) {
    self(edit).cancelled_ = true;
    return CC_EOF;
  }

  std::filesystem::path file_;
  std::string prompt_;
  bool cancelled_ = false;
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
};

class PlainReader : public LineEditor {
 public:
  Line read(const std::string&) override {
    std::string line;
    if (!std::getline(std::cin, line)) return {Line::Kind::end, ""};
    if (line.ends_with('\r')) line.pop_back();
    return {Line::Kind::text, std::move(line)};
  }
  void remember(const std::string&) override {}
};

}  // namespace

std::unique_ptr<LineEditor> LineEditor::make(const Terminal& terminal,
                                             const std::filesystem::path& history) {
  if (terminal.in_is_terminal()) return std::make_unique<TerminalEditor>(history);
  return std::make_unique<PlainReader>();
}

Line read_message(LineEditor& editor, const std::string& prompt) {
  constexpr std::string_view fence = "\"\"\"";
  Line line = editor.read(prompt);
  if (line.kind != Line::Kind::text || !line.text.starts_with(fence)) return line;
  std::string message = line.text.substr(fence.size());
  const auto closed = [&] { return message.ends_with(fence); };
  while (!closed()) {
    line = editor.read("... ");
    if (line.kind == Line::Kind::interrupted) return line;
    if (line.kind == Line::Kind::end) break;
    message += "\n" + line.text;
  }
  if (closed()) message.erase(message.size() - fence.size());
  const auto first = message.find_first_not_of('\n');
  message.erase(0, std::min(first, message.size()));
  while (message.ends_with('\n')) message.pop_back();
  return {Line::Kind::text, std::move(message)};
}

}  // namespace hearth::cli
