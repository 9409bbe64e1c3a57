// Mutations of JSON bodies and of bytes, from one seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth::fuzz {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < std::size_t(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

  /// A few places of the body changed: values replaced, removed, doubled, moved, renamed.
  /// @param donor  another body, whose parts may be put in
  Json mutated(Json body, const Json& donor);
  /// A few bytes changed: flipped, removed, doubled, cut off, put in.
  std::string mutated_bytes(std::string text);

 private:
  void change(Json& body, const Json& donor);
  Json value();
  std::string text();

  std::mt19937_64 random_;
};

}  // namespace hearth::fuzz
