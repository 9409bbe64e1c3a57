// What answers had come to when their process died: files from which the same request goes on. They
// are written by a thread of their own, read by whoever submits a request, and deleted when the
// answer is complete. What is bad or cannot be written is told and done without.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "engine/checkpoint_file.h"
#include "engine/engine.h"

namespace hearth::engine {

/// The name of an answer: a hash of all that decides its tokens.
/// @param space  the model, its tokenizer, the tier and what computes it
BlockKey answer_id(const std::string& space, const GenerateRequest& request);

class Checkpoints {
 public:
  struct Settings {
    std::filesystem::path folder;  // of all models and processes
    int every = 0;                 // tokens between two of an answer
    std::size_t max_files = 256;   // in the folder; the oldest leave first
    std::size_t max_bytes = std::size_t{64} << 20;
    std::chrono::seconds max_age = std::chrono::hours(24 * 7);
  };

  /// One answer under way: nobody else has its checkpoint while this lives. Must not outlive the
  /// Checkpoints.
  class Claim {
   public:
    Claim(Checkpoints& owner, const BlockKey& id) : owner_(owner), id_(id) {}
    ~Claim() { owner_.release(id_); }
    Claim(const Claim&) = delete;

    /// What the answer had come to; none: it begins.
    const std::optional<Checkpoint>& found() const { return found_; }
    /// What was found is of no use: its file is deleted, and the answer begins.
    void discard();
    /// Queues what the answer has come to, in place of what it was.
    void save(std::uint64_t seed, std::span<const TokenId> tokens);
    /// Whether save() is due after so many tokens.
    bool due(int tokens) const { return tokens % owner_.settings_.every == 0; }
    /// The answer goes on from what was found.
    void resumed();
    /// The answer is complete.
    void finished() { owner_.queue(id_, std::nullopt); }

   private:
    friend class Checkpoints;
    Checkpoints& owner_;
    const BlockKey id_;
    std::optional<Checkpoint> found_;
  };

  /// Never fails: a folder that cannot be used is a warning.
  explicit Checkpoints(Settings settings);
  ~Checkpoints();  // writes what waits

  // Any thread:

  /// Claims an answer and reads its checkpoint. @return null while another request has it
  std::shared_ptr<Claim> claim(const BlockKey& id);
  CheckpointStats stats() const;
  /// Waits until everything queued is on the disk or was given up.
  void drain();

 private:
  using Change = std::optional<Checkpoint>;  // none: to be deleted

  void queue(const BlockKey& id, Change change);
  void release(const BlockKey& id);
  std::optional<Checkpoint> find(const BlockKey& id);
  std::filesystem::path path_of(const BlockKey& id) const;
  void run(std::stop_token stop);
  void carry_out(const BlockKey& id, const Change& change);
  void prune() const;
  void wrote(const Result<void>& written);

  const Settings settings_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::set<BlockKey> claimed_;
  std::map<BlockKey, Change> pending_;
  std::deque<BlockKey> order_;       // of `pending_`
  std::optional<BlockKey> writing_;  // that the thread is busy with
  std::chrono::steady_clock::time_point paused_until_{};
  bool warned_ = false;
  CheckpointStats stats_;

  // Last member: it starts after, and is joined before, everything it uses.
  std::jthread thread_;
};

/// Claims the answer to a request that is about to be queued, and advances its mask over what was
/// found. A checkpoint that does not go with the request is discarded.
/// @param token_limit  of the answer
/// @return null: this answer is not kept, since another request has it or it is of a kind that
///         cannot be: log-probabilities, scored prompts
/// Errors: of GenerateRequest::mask_anew.
Result<std::shared_ptr<Checkpoints::Claim>> claim_answer(Checkpoints& checkpoints,
                                                         const std::string& space,
                                                         GenerateRequest& request, int token_limit,
                                                         int vocab_size);

}  // namespace hearth::engine
