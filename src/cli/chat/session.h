// A conversation at the terminal: its messages, and what is saved of it. No model, no terminal.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace hearth::cli {

class Session {
 public:
  void set_system(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }

  void add_user(std::string text) { turns_.push_back({{"role", "user"}, {"content", text}}); }
  void add_assistant(std::string text) {
    turns_.push_back({{"role", "assistant"}, {"content", text}});
  }
  /// Takes the last turn back: its answer failed.
  void drop_last() {
    if (!turns_.empty()) turns_.erase(turns_.size() - 1);
  }
  void clear() { turns_ = Json::array(); }
  std::size_t turns() const { return turns_.size(); }

  /// System message, if there is one, and the turns.
  Json messages() const;

  /// Writes {"model", "messages"}. Errors: io.
  Result<void> save(const std::filesystem::path& file, const std::string& model) const;
  /// Replaces all by a saved conversation. Errors: not_found, io, corrupt_file.
  Result<void> load(const std::filesystem::path& file);

 private:
  std::string system_;
  Json turns_ = Json::array();
};

}  // namespace hearth::cli
