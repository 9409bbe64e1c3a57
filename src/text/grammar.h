// Constrained decoding: grammars over a tokenizer's vocabulary, and which tokens each allows next.
// llguidance behind rust/textbridge. Leaves out what a request asks for (services) and when a mask
// is used (engine).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

struct tb_matcher;
struct tb_vocabulary;

namespace hearth::text {

enum class GrammarKind {
  json_schema,  // as hold_schema() of grammar_schema.h made it
  lark,         // llguidance's Lark; its start rule is `start`
  regex,        // the whole text matches
};

/// One row's place in a grammar. One thread at a time.
class Matcher {
 public:
  /// Sets bit i of `words` for each token i that may come next, the turn's ends where the text may
  /// end. Error: internal, the library's words, when nothing may come.
  Result<void> mask(std::span<std::uint32_t> words);
  /// Error: internal, when the grammar does not allow the token here.
  Result<void> accept(TokenId id);
  /// The text so far is whole.
  Result<bool> may_end();
  /// The text so far is whole, and nothing but an end may follow.
  bool complete() const;

  /// A matcher in the same state that shares nothing with this one.
  Result<Matcher> copy() const;

 private:
  friend class Grammars;
  struct Free {
    void operator()(tb_matcher* matcher) const;
  };
  explicit Matcher(tb_matcher* handle) : handle_(handle) {}
  std::unique_ptr<tb_matcher, Free> handle_;
};

/// The grammars of one vocabulary. Thread-safe.
class Grammars {
 public:
  Grammars() = default;  // empty; make() fills it

  /// @param end_ids     ids that end a turn, at least one
  /// @param vocab_size  rows of the model's output head; ids beyond the tokenizer's are never
  ///                    allowed
  /// Errors: unsupported, when the tokenizer cannot be held.
  static Result<std::shared_ptr<const Grammars>> make(const Tokenizer& tokenizer,
                                                      const std::set<TokenId>& end_ids,
                                                      int vocab_size);

  /// A matcher at the grammar's start. The last few compiled grammars are kept.
  /// Errors: invalid_schema, the library's words.
  Result<Matcher> matcher(GrammarKind kind, std::string_view grammar) const;

  /// What a token adds to the text; a marker is spelled out.
  const std::string& bytes(TokenId id) const;
  const std::set<TokenId>& end_ids() const { return end_ids_; }
  int vocab_size() const { return int(bytes_.size()); }
  std::size_t mask_words() const { return (bytes_.size() + 31) / 32; }

 private:
  struct Free {
    void operator()(tb_vocabulary* vocabulary) const;
  };
  struct Compiled {
    GrammarKind kind;
    std::string grammar;
    Matcher fresh;  // never advanced
  };
  Result<Matcher> compile(GrammarKind kind, std::string_view grammar) const;

  std::unique_ptr<tb_vocabulary, Free> handle_;
  std::vector<std::string> bytes_;
  std::set<TokenId> end_ids_;
  mutable std::mutex mutex_;              // guards compiled_
  mutable std::list<Compiled> compiled_;  // last used first
};

/// Makes a model's Grammars on first use. Thread-safe.
class LazyGrammars {
 public:
  using Make = std::function<Result<std::shared_ptr<const Grammars>>()>;
  Result<std::shared_ptr<const Grammars>> get(const Make& make);

 private:
  std::mutex mutex_;  // guards made_; held while they are made
  std::shared_ptr<const Grammars> made_;
};

}  // namespace hearth::text
