// Where models live: in this process or in workers. A pool decides when one comes or goes.
// Everything here runs on the I/O thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "server/served.h"

namespace hearth::server {

class Host {
 public:
  using Loaded = std::function<void(Result<ServedPtr>)>;
  using Unloaded = std::function<void()>;

  virtual ~Host() = default;

  /// Brings the catalog's model here and calls `done`, never at once.
  virtual void load(std::size_t model, Loaded done) = 0;

  /// Frees what the model holds and calls `done` when it is free.
  virtual void unload(ServedPtr served, Unloaded done) = 0;

  /// A model that is here has this share of what all divide.
  virtual void share(const ServedPtr& served, const engine::Share& share) = 0;

  /// The catalog has so many models now.
  virtual void grow(std::size_t /*models*/) {}

  /// No load is wanted any more: nothing that is under way may keep the I/O thread from its end.
  virtual void stop() {}

  /// The end: frees the models, except one whose load is under way.
  /// @return whether none was
  virtual bool close(std::vector<ServedPtr> served) = 0;
};

}  // namespace hearth::server
