#include "services/chat/answer.h"

#include <algorithm>
#include <utility>

#include "services/chat/prompt.h"

namespace hearth::services {
namespace {

/// With its tokens told, the echo is a matter of each Generation.
bool echoes_plainly(const Request& request) { return request.echo && request.top_logprobs < 0; }

}  // namespace

Result<std::unique_ptr<Answer>> Answer::start(std::shared_ptr<LoadedModel> model,
                                              const Request& request,
                                              const ServerDefaults& defaults,
                                              Clock::time_point arrived) {
  auto answer = std::make_unique<Answer>();
  const auto add_prompt = [&](const Input& input) -> Result<void> {
    if (auto fits = may_fit(*model, input); !fits) return fits;
    auto ids = encode_input(*model, input, defaults);
    if (!ids) return fail(ids.error());
    answer->usage_.prompt_tokens += int(ids->size());
    for (int i = 0; i < request.n; ++i) {
      if (echoes_plainly(request)) answer->echoes_.push_back(echo_text(*model, input, *ids));
      const int choice = int(answer->generations_.size());
      answer->submitted_after_.push_back(
          std::chrono::duration<double>(Clock::now() - arrived).count());
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
      if (const auto* end = std::get_if<Finished>(&event)) add_up(choice, end->usage);
      out.push_back({choice, std::move(event)});
    }
  }
  return out;
}

/// Tokens are those of all choices; of times, the first token's is the earliest, others the
/// longest.
void Answer::add_up(int choice, const Usage& usage) {
  const auto longest = [](double& all, double one) { all = std::max(all, one); };
  usage_.completion_tokens += usage.completion_tokens;
  usage_.reasoning_tokens += usage.reasoning_tokens;
  usage_.decoded_tokens += std::max(0, usage.completion_tokens - 1);
  longest(usage_.queue_seconds, usage.queue_seconds);
  longest(usage_.prefill_seconds, usage.prefill_seconds);
  longest(usage_.decode_seconds, usage.decode_seconds);
  if (choice == 0) usage_.cached_tokens = usage.cached_tokens;
  if (usage.completion_tokens == 0) return;
  const double first = submitted_after_[choice] + usage.queue_seconds + usage.prefill_seconds;
  auto& earliest = usage_.first_token_seconds;
  earliest = earliest > 0 ? std::min(earliest, first) : first;
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
