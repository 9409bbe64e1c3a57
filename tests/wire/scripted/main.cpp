// The real server with a scripted model: what the wire suite's tool loops and agents talk to.
// usage: scripted_server MODEL_FOLDER SCRIPT.json [--port N] [--template FILE] [--dialect NAME]
//                        [--record FILE] [--context N] [--id NAME] [--api-key KEY]
//                        [--any-model yes]
// Prints "http://127.0.0.1:PORT" once it listens; SIGTERM ends it.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "model.h"
#include "server/server.h"

namespace {

using namespace hearth;

struct Arguments {
  scripted::ModelOptions model;
  server::ServerOptions server;
  std::string script;
};

Result<Arguments> parse(std::span<char* const> words) {
  if (words.size() < 2 || words.size() % 2 != 0) {
    return fail(ErrorCode::usage,
                "usage: scripted_server MODEL_FOLDER SCRIPT.json [--option value]...");
  }
  Arguments out;
  out.model.folder = words[0];
  out.script = words[1];
  out.server.port = 0;
  out.server.shutdown_limit = std::chrono::seconds(1);
  const std::map<std::string, std::function<void(const char*)>> options{
      {"--port", [&](const char* value) { out.server.port = std::atoi(value); }},
      {"--template", [&](const char* value) { out.model.chat_template = value; }},
      {"--dialect", [&](const char* value) { out.model.tool_dialect = value; }},
      {"--record", [&](const char* value) { out.model.record = value; }},
      {"--context", [&](const char* value) { out.model.context_length = std::atoi(value); }},
      {"--id", [&](const char* value) { out.model.id = value; }},
      {"--any-model", [&](const char*) { out.server.any_model = true; }},
      {"--api-key", [&](const char* value) { out.server.api_key = value; }},
  };
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const auto option = options.find(words[i]);
    if (option == options.end()) {
      return fail(ErrorCode::usage, fmt::format("no option {}", words[i]));
    }
    option->second(words[i + 1]);
  }
  return out;
}

Result<void> serve(std::span<char* const> words) {
  auto arguments = parse(words);
  if (!arguments) return fail(arguments.error());
  auto script = scripted::Script::read(arguments->script);
  if (!script) return fail(script.error());
  auto model = scripted::load(arguments->model, std::move(*script));
  if (!model) return fail(model.error());
  auto server = server::Server::listen(arguments->server);
  if (!server) return fail(server.error());
  (*server)->stop_on_signals();
  (*server)->set_model(std::move(*model));
  fmt::print("{}\n", (*server)->url());
  std::fflush(stdout);
  return (*server)->wait();
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = serve({argv + 1, argv + argc});
  if (done || done.error().code == ErrorCode::cancelled) return EXIT_SUCCESS;
  fmt::print(stderr, "scripted_server: {}\n", done.error().message);
  return EXIT_FAILURE;
}
