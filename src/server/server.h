// The HTTP server: one listener, one I/O thread, a few workers that parse, template and tokenise.
// It answers from the moment it listens; requests that need the model wait until it is given one.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "services/chat/request.h"
#include "services/model.h"
#include "services/pool/catalog.h"

namespace hearth::server {

/// Bounds on what a client may send and how long it may take. Tests make them small.
struct Limits {
  std::size_t header_bytes = 64 << 10;              // more: 431
  std::size_t body_bytes = std::size_t{384} << 20;  // more: 413
  std::size_t bodies_bytes = std::size_t{1} << 30;  // of all requests under way; more: 429
  int connections = 1024;                           // more: the longest idle is closed, else wait
  int preparing = 64;                               // requests being templated; more: 429
  std::chrono::milliseconds header_time{30'000};  // from a request's first byte to its headers' end
  std::chrono::milliseconds body_time{60'000};    // for the first bytes; then 16 KiB a second
  std::chrono::milliseconds idle_time{120'000};   // a kept-alive connection without a request
  std::chrono::milliseconds write_time{60'000};   // a client that takes nothing is dropped
  std::chrono::milliseconds ping_interval{15'000};  // `: keep-alive` while nothing is produced
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address or a name; "0.0.0.0" or "::" for every interface
  int port = 8080;                 // 0: any free one
  std::string api_key;             // empty: none is asked for
  std::vector<std::string> allowed_origins;  // CORS; "*" for any
  std::filesystem::path unix_socket;  // listen on it alone: this is a worker, its parent the client
  std::string served_name;            // id in /v1/models and in answers; empty: the model's own
  bool any_model = false;             // every `model` of a request means the served one
  services::ServerDefaults defaults;
  std::chrono::milliseconds shutdown_limit{10'000};  // for streams to end by themselves
  Limits limits;
  int workers = 2;
};

/// How models live in processes of their own.
struct WorkerSettings {
  std::filesystem::path folder;  // for the sockets; made, with mode 0700, and removed
  /// The program's arguments for a model, but for the socket.
  std::function<std::vector<std::string>(const services::CatalogModel&)> arguments;
  std::chrono::milliseconds ready_limit = std::chrono::minutes(15);
  std::chrono::milliseconds drain_limit = std::chrono::seconds(30);  // then it is killed
};

/// Which models a server has, and how it gets them.
struct ModelSetup {
  /// The first is the one that requests mean which name none.
  std::vector<services::CatalogModel> models;
  services::PoolLimits limits;
  /// Runs on a thread of the pool, one call at a time.
  std::function<Result<std::shared_ptr<services::LoadedModel>>(const services::CatalogModel&)> load;
  /// In place of `load`: every model lives in a worker process.
  std::optional<WorkerSettings> workers;
  /// Called once the first model is there.
  std::function<void()> ready = {};
};

class Server {
 public:
  /// Binds and starts to answer at once, on threads of its own.
  /// Errors: io (host unknown; port in use, naming the model of the server that holds it).
  static Result<std::unique_ptr<Server>> listen(ServerOptions options);

  /// Stops at once; open streams get an error frame.
  ~Server();

  /// The port it listens on.
  int port() const;
  /// "http://127.0.0.1:8080": where a browser on this machine finds it.
  std::string url() const;

  /// Says which models there are and loads the first. Once. When that load fails, those that wait
  /// get its error, the server ends and wait() returns it.
  void serve_models(ModelSetup setup);
  /// Says which models there are now, after serve_models(). The first stays what it is; one that is
  /// gone answers nobody any more and is unloaded when nobody uses it. Any thread.
  void refresh_models(std::vector<services::CatalogModel> models);
  /// serve_models() with one that is loaded already.
  void set_model(std::shared_ptr<services::LoadedModel> model);
  /// Ends with this error: waiting requests get it, and wait() returns it.
  void fail(Error error);

  /// SIGINT and SIGTERM call stop(); a second one ends the process at once with code 130 or 143.
  void stop_on_signals();

  /// Asks for the end, from any thread: accepts no more, lets streams end within shutdown_limit,
  /// then sends those that are left an error frame. Returns at once.
  void stop();

  /// Blocks until everything has ended after stop() or fail().
  /// Errors: that of fail(); cancelled, when streams had to be cut (their number is named).
  Result<void> wait();

  /// After wait(): frees the models. @return false when a load is under way: it cannot be broken
  /// off, and the destructor would wait for it
  bool release_models();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::server
