// Marker text that comes from a message, kept apart from what the template writes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/chat_template.h"

namespace hearth::text {

/// Wraps marker text in strings between two characters that no text uses (Unicode noncharacters),
/// so that it can be told apart in a rendering. Templates still find the marker itself.
class MarkerMask {
 public:
  /// @param markers  texts of the control tokens
  explicit MarkerMask(std::vector<std::string> markers);

  /// The conversation with every marker wrapped; `found` tells whether there was any.
  struct Masked {
    Json messages, tools, kwargs;
    bool found = false;
    std::string open, close;  // the two characters
  };
  Masked mask(const Conversation& conversation) const;

  /// A rendering of masked input as segments. Lone halves of a pair, where the template cut inside,
  /// vanish but keep the two sides apart.
  std::vector<Segment> split(std::string_view rendered, const Masked& masked) const;

 private:
  struct Walk;
  std::vector<std::string> markers_;  // longest first
};

}  // namespace hearth::text
