#include "services/chat/answer.h"

#include <algorithm>
#include <utility>

#include "services/chat/prompt.h"

namespace hearth::services {
namespace {

std::string echo_of(const LoadedModel& model, const Input& input,
                    const std::vector<text::TokenId>& ids) {
  if (const auto* text = std::get_if<std::string>(&input)) return *text;
  return model.tokenizer->decode(ids, true);
}

}  // namespace

Result<std::unique_ptr<Answer>> Answer::start(std::shared_ptr<LoadedModel> model,
                                              const Request& request,
                                              const ServerDefaults& defaults) {
  auto answer = std::make_unique<Answer>();
  const auto add_prompt = [&](const Input& input) -> Result<void> {
    auto ids = encode_input(*model, input, defaults);
    if (!ids) return fail(ids.error());
    answer->usage_.prompt_tokens += int(ids->size());
    for (int i = 0; i < request.n; ++i) {
      if (request.echo) answer->echoes_.push_back(echo_of(*model, input, *ids));
      const int choice = int(answer->generations_.size());
      auto generation = Generation::submit(model, *ids, input, request, defaults, choice);
      if (!generation) return fail(generation.error());
      answer->generations_.push_back(std::move(*generation));
    }
    return {};
  };
  if (auto added = add_prompt(request.input); !added) return fail(added.error());
  for (const Input& input : request.more_inputs) {
    if (auto added = add_prompt(input); !added) return fail(added.error());
  }
  return answer;
}

std::vector<ChoiceEvent> Answer::poll() {
  std::vector<ChoiceEvent> out;
  for (int choice = 0; choice < int(generations_.size()); ++choice) {
    for (Event& event : generations_[choice]->poll()) {
      if (const auto* end = std::get_if<Finished>(&event)) {
        usage_.completion_tokens += end->usage.completion_tokens;
        usage_.reasoning_tokens += end->usage.reasoning_tokens;
        usage_.prefill_seconds = std::max(usage_.prefill_seconds, end->usage.prefill_seconds);
        usage_.decode_seconds = std::max(usage_.decode_seconds, end->usage.decode_seconds);
        if (choice == 0) usage_.cached_tokens = end->usage.cached_tokens;
      }
      out.push_back({choice, std::move(event)});
    }
  }
  return out;
}

void Answer::on_ready(const std::function<void()>& notify) {
  for (const auto& generation : generations_) generation->on_ready(notify);
}

void Answer::cancel() {
  for (const auto& generation : generations_) generation->cancel();
}

bool Answer::finished() const {
  return std::ranges::all_of(generations_, [](const auto& g) { return g->finished(); });
}

}  // namespace hearth::services
