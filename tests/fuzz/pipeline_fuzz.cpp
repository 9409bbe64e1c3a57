// Random outputs with every dialect's markers, whole and cut anywhere, through the output pipeline:
// however the text arrives the events are the same, and nothing is lost or told twice.
//
// pipeline_fuzz [SECONDS [SEED]], 5 seconds unless HEARTH_FUZZ_SECONDS is set; ends with 1 and the
// output that failed at the first finding.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "services/chat/pipeline_testing.h"
#include "text/dialect/dialects.h"

namespace hearth::services {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whole characters as they are, each byte that is in none as U+FFFD.
std::string valid(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    std::size_t n = 1;
    while (n < 4 && n < bytes.size() && !is_utf8(bytes.substr(0, n))) ++n;
    const bool whole = is_utf8(bytes.substr(0, n));
    out += whole ? bytes.substr(0, n) : "\uFFFD";
    bytes.remove_prefix(whole ? n : 1);
  }
  return out;
}

/// Ids below 300 and special markers as MarkerTokenizer has them; every other id is a run of bytes.
class ChunkTokenizer : public testing::MarkerTokenizer {
 public:
  using MarkerTokenizer::MarkerTokenizer;
  text::TokenId chunk(std::string bytes) {
    chunks_.push_back(std::move(bytes));
    return first_chunk + text::TokenId(chunks_.size()) - 1;
  }
  std::string decode(std::span<const text::TokenId> ids, bool) const override {
    std::string bytes;
    for (const auto id : ids) {
      if (id >= first_chunk)
        bytes += chunks_[id - first_chunk];
      else if (id < end)
        bytes += char(id);
    }
    return valid(bytes);
  }

 private:
  static constexpr text::TokenId first_chunk = 10000;
  std::vector<std::string> chunks_;
};

/// One output: pieces of text, and which of them are control tokens.
struct Program {
  struct Piece {
    std::string text;
    bool marker = false;
  };
  std::vector<Piece> pieces;
  std::vector<std::string> words;  // each unique, in order
  bool loose_markers = false;      // whole markers outside calls: what they enclose may be dropped
  std::string text() const {
    std::string all;
    for (const auto& piece : pieces) all += piece.text;
    return all;
  }
};

class Fuzzer {
 public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed) {}
  /// Runs one program. @return what is wrong; empty when nothing is
  std::string round();

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < std::size_t(percent); }
  std::string_view marker();
  std::string word(Program& program);
  std::string call(Program& program);
  Program program();
  std::vector<text::TokenId> cut(const Program& program, ChunkTokenizer& tokenizer, bool bytes);
  std::string compare(const Program& program, const testing::Outcome& bytes,
                      const testing::Outcome& chunks, std::size_t tokens) const;
  std::string missing(const Program& program, const testing::Outcome& out) const;

  std::mt19937_64 random_;
  int word_ = 0;
  testing::Feed feed_;
};

std::string_view Fuzzer::marker() {
  std::vector<std::string_view> all(feed_.format.dialect->markers);
  const auto add = [&](const auto& texts) { all.insert(all.end(), texts.begin(), texts.end()); };
  add(feed_.format.dialect->openings);
  add(feed_.format.dialect->closings);
  add(feed_.format.dialect->tails);
  all.insert(all.end(), {feed_.format.reasoning->open, feed_.format.reasoning->close, "STOP"});
  return all[below(all.size())];
}

std::string Fuzzer::word(Program& program) {
  program.words.push_back(fmt::format("w{}q", word_++));
  return program.words.back();
}

std::string Fuzzer::call(Program& program) {
  std::vector<text::testing::WrittenCall> calls;
  for (auto n = 1 + below(3); n > 0; --n) {
    Json arguments = Json::object();
    if (chance(80)) arguments["path"] = word(program) + (chance(30) ? " é🚀" : "");
    if (chance(50)) arguments["count"] = int(below(100));
    if (chance(30)) arguments["tags"] = Json::array({word(program)});
    calls.push_back({chance(90) ? "read" : "nope", std::move(arguments)});
  }
  return text::testing::write_calls(*feed_.format.dialect, calls);
}

Program Fuzzer::program() {
  constexpr std::string_view litter[] = {" ",  "\n", "\n\n", "é",  "🚀",        "東京",
                                         "{",  "}",  "[",    "\"", "<",        "\\",
                                         "ST", "'",  ":",    "|>", "\xf0\x9f", "null"};
  Program out;
  out.loose_markers = chance(60);
  for (auto n = 1 + below(9); n > 0; --n) {
    const auto kind = below(10);
    if (kind < 4) {
      out.pieces.push_back({word(out)});
    } else if (kind < 6) {
      out.pieces.push_back({std::string(litter[below(std::size(litter))])});
    } else if (kind < 8) {
      const auto whole = marker();
      const bool loose = out.loose_markers && chance(60);
      out.pieces.push_back(
          {std::string(whole.substr(0, loose ? whole.npos : below(whole.size()))), loose});
    } else {
      auto text = call(out);
      if (out.loose_markers && chance(40)) {
        const auto at = below(text.size());
        if (chance(50))
          text.resize(at);
        else
          text.erase(at, 1 + below(4));
      }
      out.pieces.push_back({std::move(text), true});
    }
  }
  return out;
}

/// Token ids of a program. Markers are control tokens where the vocabulary has them and the piece
/// is markup; all other text is cut at random, also inside characters.
std::vector<text::TokenId> Fuzzer::cut(const Program& program, ChunkTokenizer& tokenizer,
                                       bool bytes) {
  std::vector<text::TokenId> ids;
  std::string run;
  const auto flush = [&] {
    for (std::string_view rest = run; !rest.empty();) {
      const auto n = bytes ? 1 : std::min(rest.size(), 1 + below(12));
      ids.push_back(n == 1 ? text::TokenId(static_cast<unsigned char>(rest[0]))
                           : tokenizer.chunk(std::string(rest.substr(0, n))));
      rest.remove_prefix(n);
    }
    run.clear();
  };
  for (const auto& piece : program.pieces) {
    if (!piece.marker) {
      run += piece.text;
      continue;
    }
    for (const auto id : tokenizer.ids(piece.text)) {
      if (id < 256) {
        run += char(id);
      } else {
        flush();
        ids.push_back(id);
      }
    }
  }
  flush();
  return ids;
}

std::string heard(const testing::Outcome& out) {
  std::string all = out.reasoning + "\n" + out.text + "\n";
  for (const auto& call : out.calls) all += call.id + call.name + call.arguments + "\n";
  return all;
}

std::string Fuzzer::missing(const Program& program, const testing::Outcome& out) const {
  const auto all = heard(out);
  const bool stopped = !out.end->stop_sequence.empty() || !feed_.format.parallel;
  for (const auto& word : program.words) {
    const auto first = all.find(word);
    if (first == all.npos && !stopped && !program.loose_markers) return word + " is lost";
    if (first != all.npos && all.find(word, first + 1) != all.npos) return word + " is told twice";
  }
  return {};
}

std::string Fuzzer::compare(const Program& program, const testing::Outcome& a,
                            const testing::Outcome& b, std::size_t tokens) const {
  if (!a.end || !b.end) return "no end";
  if (a.text != b.text) return fmt::format("text {} and {}", quoted(a.text), quoted(b.text));
  if (a.reasoning != b.reasoning) return "reasoning differs";
  if (a.call_texts() != b.call_texts()) return "calls differ";
  if (a.end->stop_sequence != b.end->stop_sequence) return "stop differs";
  if (a.end->reason != b.end->reason) return "reason differs";
  for (const auto& out : {a, b}) {
    for (const auto& piece : out.pieces) {
      if (!is_utf8(piece)) return "half a character left";
    }
    for (const auto& call : out.calls) {
      const auto arguments = parse_json(call.arguments);
      if (!arguments || !arguments->is_object()) return "arguments are no object";
      if (!feed_.format.tools.contains(call.name) || call.id.empty())
        return "a call without a name";
    }
  }
  const bool stopped =
      !a.end->stop_sequence.empty() || (!feed_.format.parallel && !a.calls.empty());
  if (!stopped && std::size_t(a.tokens) != tokens) {
    return fmt::format("{} of {} tokens told", a.tokens, tokens);
  }
  if (a.end->usage.reasoning_tokens > int(tokens)) return "too many reasoning tokens";
  return missing(program, a);
}

std::string Fuzzer::round() {
  const auto& all = text::all_dialects();
  feed_ = {};
  feed_.format = testing::format_of(*all[below(all.size())]);
  if (feed_.format.dialect->name != "harmony" && chance(40)) {
    const auto& kinds = text::all_reasoning();
    feed_.format.reasoning = &kinds[1 + below(kinds.size() - 1)];
  }
  feed_.format.starts_in_reasoning = !feed_.format.reasoning->channels && chance(20);
  feed_.format.parallel = chance(85);
  if (chance(30)) feed_.stop = {"STOP", "}\n"};
  feed_.reason = chance(60) ? engine::FinishReason::stop : engine::FinishReason::length;
  std::vector<std::string_view> controls;
  if (chance(50)) {
    controls = feed_.format.dialect->markers;
    controls.insert(controls.end(), {feed_.format.reasoning->open, feed_.format.reasoning->close});
  }
  const auto tokenizer = std::make_shared<ChunkTokenizer>(controls);
  feed_.tokenizer = tokenizer;
  word_ = 10;
  const auto program = this->program();
  const auto bytes = cut(program, *tokenizer, true), chunks = cut(program, *tokenizer, false);
  const auto wrong =
      compare(program, testing::run(bytes, feed_), testing::run(chunks, feed_), bytes.size());
  if (wrong.empty()) return {};
  return fmt::format("{}\ndialect {}, reasoning {}, inside {}, parallel {}, controls {}\n{}", wrong,
                     feed_.format.dialect->name, feed_.format.reasoning->name,
                     feed_.format.starts_in_reasoning, feed_.format.parallel, !controls.empty(),
                     quoted(program.text()));
}

int run_for(double seconds, std::uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t rounds = 0;
  for (; std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds);
       ++rounds) {
    const auto wrong = Fuzzer(seed + rounds).round();
    if (wrong.empty()) continue;
    fmt::print(stderr, "seed {}: {}\n", seed + rounds, wrong);
    return EXIT_FAILURE;
  }
  fmt::print("{} outputs, no finding\n", rounds);
  return rounds > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace hearth::services

int main(int argc, char** argv) {
  const char* environment = std::getenv("HEARTH_FUZZ_SECONDS");
  const double seconds = std::atof(argc > 1 ? argv[1] : environment ? environment : "5");
  const auto seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return hearth::services::run_for(seconds, seed);
}
