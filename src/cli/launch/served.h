// Asks a base URL which model is served there, and starts a server where none is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/launch/client.h"

namespace hearth::cli {

struct BaseUrl {
  std::string url;  // "http://127.0.0.1:8080": no path, no slash at the end
  std::string host, port;
  bool https = false;

  bool on_this_machine() const;
};

/// Takes "http://HOST[:PORT][/v1]" and "HOST:PORT". Errors: usage.
Result<BaseUrl> parse_base_url(std::string_view text);

/// What GET /v1/models says, with the key where one is given.
/// Errors: not_found (nobody there, or https, which is not asked), overloaded (no answer yet: a
/// server that still loads its model), unauthorized, unsupported (somebody who is no such server,
/// or serves no model).
Result<Target> ask_served(const BaseUrl& base, const std::string& api_key,
                          std::chrono::milliseconds limit);

/// A program that runs beside us, in a process group of its own: a Ctrl-C meant for the client
/// does not reach it. It gets SIGTERM when this object ends, and when we die.
class Companion {
 public:
  /// @param variables  added to its environment
  /// @param log        what it prints goes here
  /// Errors: io.
  static Result<Companion> start(const std::vector<std::string>& command,
                                 const Variables& variables, const std::filesystem::path& log);
  Companion(Companion&& other) noexcept : child_(other.child_) { other.child_ = -1; }
  Companion& operator=(Companion&&) = delete;
  ~Companion();

  /// It has ended by itself.
  bool ended();

 private:
  explicit Companion(::pid_t child) : child_(child) {}
  ::pid_t child_;
};

/// This program's own file.
std::filesystem::path own_program();

}  // namespace hearth::cli
