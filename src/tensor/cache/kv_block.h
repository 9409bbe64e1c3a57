// A stretch of one layer's past that outlives its sequence: what prompt caches keep and share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hearth::tensor {

/// Never changes once it is made, so that any thread may read and drop it.
class KvBlock {
 public:
  virtual ~KvBlock() = default;

  /// Kind, type and shape in words: blocks of one format have bytes of one meaning.
  virtual std::string format() const = 0;
  virtual std::span<const std::byte> bytes() const = 0;
};

using KvBlockPtr = std::shared_ptr<const KvBlock>;

/// How much of the past a cache must be given to go on from a position.
struct PastNeeded {
  enum class Kind {
    all,     // the blocks of every token
    window,  // the blocks of the last `tokens`
    state,   // one block, made at that position: the state there
  };
  Kind kind = Kind::all;
  int tokens = 0;
  bool operator==(const PastNeeded&) const = default;
};

}  // namespace hearth::tensor
