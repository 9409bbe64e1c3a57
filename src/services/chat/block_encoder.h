// What the wires whose answer is a list of blocks share (Anthropic's content, OpenAI's output
// items): which block an event belongs to. Blocks never overlap; one that would hold white space
// alone is left out, unless it is the whole answer.
#pragma once

#include <string>
#include <vector>

#include "services/chat/protocol.h"

namespace hearth::services {

class BlockEncoder : public Encoder {
 public:
  explicit BlockEncoder(bool stream) : stream_(stream) {}
  std::string frames(const ChoiceEvent& event) override;

 protected:
  enum class Block { none, reasoning, text };

  virtual void open(Block block) = 0;
  /// @param tokens  whose text it is, where they are told; text may be empty then
  virtual void add(Block block, const std::string& text, const std::vector<TokenInfo>& tokens) = 0;
  /// @param cut  the answer ends here for want of tokens
  virtual void close(Block block, bool cut) = 0;
  /// A block of its own, from start to end.
  virtual void tool_call(const ToolCall& call) = 0;
  /// All blocks are closed.
  virtual void finished(const Finished& end) = 0;

  /// Adds a frame to those that frames() returns; nothing when the answer is not streamed.
  void send(const std::string& frame);
  bool streams() const { return stream_; }

 private:
  void more(Block block, const std::string& text, const std::vector<TokenInfo>& tokens);
  void drop_held();
  void begin_block(Block block);
  void close_block(bool cut);
  void finish(const Finished& end);

  const bool stream_;
  Block open_ = Block::none;
  Block held_block_ = Block::none;
  std::string held_;  // white space that no block has begun with
  std::vector<TokenInfo> held_tokens_;
  bool any_ = false;  // there was a block
  std::string out_;
};

}  // namespace hearth::services
