// What is known of each client: its program, the environment and arguments that point it at a
// hearth server, and the file that does so for good.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"

namespace hearth::cli {

/// The server and its model, as clients are told of them.
struct Target {
  std::string base_url = "http://127.0.0.1:8080";  // without /v1
  std::string model = "local";                     // "local" where no server said its name
  std::string api_key = "hearth";                  // clients want one though the server may not
  int context_length = 32768;
  bool reasoning = false, vision = false;

  std::string v1() const { return base_url + "/v1"; }
};

/// A file that a client reads, and what we put there.
struct ClientFile {
  enum class Kind {
    json,   // members of an object, comments allowed
    yaml,   // top-level keys
    whole,  // the file is ours
  };
  using Path = std::vector<std::string>;
  std::filesystem::path path;
  Kind kind = Kind::whole;
  std::vector<std::pair<Path, Json>> settings;  // json; yaml has paths of one string
  std::string text;                             // whole
};

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Client {
  std::string_view name;     // "claude"
  std::string_view title;    // "Claude Code"
  std::string_view program;  // on PATH; empty where there is none to start
  std::string_view install;  // the command that installs it
  Variables (*environment)(const Target&);
  std::vector<std::string> (*arguments)(const Target&);  // before the user's own; may be null
  /// Null where the environment alone points the client at a server.
  ClientFile (*config)(const Target&, const Environment&);
  std::string_view then;  // what starts it once the file is there; empty: the program alone
};

/// Those that `launch` starts first.
std::span<const Client> clients();

/// Null when there is none.
const Client* find_client(std::string_view name);

/// The extension that makes hearth a provider of pi; its first line says that it is ours.
std::string pi_extension(const Target& target);

/// Where pi looks for extensions of this user.
std::filesystem::path pi_extension_path(const Environment& environment);

/// Whether `text` begins with the line that says that hearth wrote it.
bool is_ours(std::string_view text);

}  // namespace hearth::cli
