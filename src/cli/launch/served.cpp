#include "cli/launch/served.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace hearth::cli {
namespace {

namespace asio = boost::asio;

/// The whole answer to one GET. The server closes after it. Errors: as ask_served.
Result<std::string> get(const BaseUrl& base, std::string_view path, const std::string& api_key,
                        std::chrono::milliseconds limit) {
  asio::ip::tcp::iostream stream;
  stream.expires_after(limit);
  stream.connect(base.host, base.port);
  if (!stream) return fail(ErrorCode::not_found, "nothing answers at " + base.url);
  stream << "GET " << path << " HTTP/1.1\r\nHost: " << base.host << ":" << base.port
         << "\r\nConnection: close\r\nAuthorization: Bearer " << api_key << "\r\n\r\n"
         << std::flush;
  std::string answer(std::istreambuf_iterator<char>(stream), {});
  if (answer.empty()) {
    return fail(ErrorCode::overloaded,
                fmt::format("{} takes requests but has not answered within {} s", base.url,
                            std::chrono::duration<double>(limit).count()));
  }
  return answer;
}

tl::unexpected<Error> no_server(const BaseUrl& base, std::string_view said) {
  return fail(ErrorCode::unsupported,
              fmt::format("{} is not a server of models: {}", base.url, said));
}

}  // namespace

bool BaseUrl::on_this_machine() const {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

Result<BaseUrl> parse_base_url(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::usage,
                fmt::format("--base-url: got '{}', expected http://HOST:PORT", text), "--base-url");
  };
  BaseUrl out;
  auto rest = text;
  if (rest.starts_with("https://")) {
    out.https = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.find("://") != rest.npos) {
    return wrong();
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.ends_with("/v1")) rest.remove_suffix(3);
  if (rest.empty() || rest.find_first_of("/ \"\\?#@") != rest.npos) return wrong();
  const auto colon = rest.rfind(':');
  const bool has_port = colon != rest.npos && rest.find(']', colon) == rest.npos &&
                        (rest.front() == '[' || rest.find(':') == colon);
  out.host = rest.substr(0, has_port ? colon : rest.npos);
  out.port = has_port ? std::string(rest.substr(colon + 1)) : out.https ? "443" : "80";
  const bool number = !out.port.empty() && out.port.size() <= 5 &&
                      std::ranges::all_of(out.port, [](char c) { return c >= '0' && c <= '9'; });
  if (!number || out.host.empty()) return wrong();
  out.url = fmt::format("{}://{}", out.https ? "https" : "http", rest);
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  return out;
}

Result<Target> ask_served(const BaseUrl& base, const std::string& api_key,
                          std::chrono::milliseconds limit) {
  if (base.https) return fail(ErrorCode::not_found, base.url + " is https, which is not asked");
  const auto answer = get(base, "/v1/models", api_key, limit);
  if (!answer) return fail(answer.error());
  const auto status = answer->substr(0, answer->find("\r\n"));
  if (status.find(" 401") != status.npos) {
    return fail(ErrorCode::unauthorized,
                fmt::format("{} asks for a key; --api-key or HEARTH_API_KEY gives it", base.url));
  }
  const auto body = answer->find("\r\n\r\n");
  if (status.find(" 200") == status.npos || body == answer->npos) {
    return no_server(base, fmt::format("it said `{}`", status));
  }
  const auto json = parse_json(std::string_view(*answer).substr(body + 4));
  if (!json || !json->is_object()) return no_server(base, "its model list is no JSON");
  const Json rows = json->value("data", Json::array());
  if (!rows.is_array() || rows.empty() || !rows[0].is_object() ||
      !rows[0].value("id", Json()).is_string()) {
    return no_server(base, "it lists no model");
  }
  const Json& row = rows[0];
  Target out{.base_url = base.url, .model = row["id"].get<std::string>()};
  if (!api_key.empty()) out.api_key = api_key;
  const Json window = row.value("context_window", Json());
  if (window.is_number_integer() && window > 0) out.context_length = window.get<int>();
  out.reasoning = row.value("reasoning", Json()) == true;
  out.vision = row.value("vision", Json()) == true;
  return out;
}

Result<Companion> Companion::start(const std::vector<std::string>& command,
                                   const Variables& variables, const std::filesystem::path& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (out < 0) {
    return fail(ErrorCode::io, fmt::format("{}: {}", log.string(), std::strerror(errno)));
  }
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const ::pid_t child = ::fork();
  if (child == 0) {
#ifndef __APPLE__
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ::close(out);
  if (child < 0) return fail(ErrorCode::io, fmt::format("fork: {}", std::strerror(errno)));
  return Companion(child);
}

bool Companion::ended() {
  if (child_ <= 0 || ::waitpid(child_, nullptr, WNOHANG) == 0) return child_ <= 0;
  child_ = -1;
  return true;
}

Companion::~Companion() {
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  ::waitpid(child_, nullptr, 0);
}

std::filesystem::path own_program() {
#ifdef __APPLE__
  std::string path(4096, '\0');
  auto size = std::uint32_t(path.size());
  if (::_NSGetExecutablePath(path.data(), &size) != 0) return "hearth";
  return std::string(path.c_str());
#else
  std::error_code failed;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "hearth" : path;
#endif
}

}  // namespace hearth::cli
