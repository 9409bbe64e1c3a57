#include "services/chat/generation.h"

#include <utility>

#include "services/chat/answer_scope.h"
#include "services/chat/constraint.h"
#include "services/chat/output_format.h"
#include "services/chat/pipeline.h"
#include "services/chat/prompt.h"
#include "services/chat/sampling_values.h"

namespace hearth::services {

struct Generation::Impl {
  std::shared_ptr<LoadedModel> model;  // keeps the engine while the row runs
  std::shared_ptr<engine::TokenStream> stream;
  OutputPipeline pipeline;
  int prompt_tokens;
  std::string echo;  // goes before the answer, with the prompt's tokens

  void take(const engine::StreamItem& item, std::vector<Event>& events) {
    if (const auto* scored = std::get_if<engine::ScoredPrompt>(&item)) {
      events.emplace_back(echoed(*scored));
      return;
    }
    pipeline.push(item, events);
    if (pipeline.stopped()) stream->stop();
  }

  TextDelta echoed(const engine::ScoredPrompt& scored) {
    TextDelta delta{.text = std::exchange(echo, {}), .tokens = {}};
    for (const auto& token : scored.tokens) {
      delta.tokens.push_back({{token.id, token.logprob}, token.top});
    }
    return delta;
  }
};

namespace {

/// Ids that XTC must never rule out: those that end a turn, and the newline.
std::set<text::TokenId> xtc_exempt(const text::Tokenizer& tokenizer) {
  auto ids = tokenizer.stop_ids();
  if (const auto newline = tokenizer.encode("\n", {})) ids.insert(newline->begin(), newline->end());
  return ids;
}

}  // namespace

Generation::Generation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Generation::~Generation() {
  impl_->stream->on_ready({});
  if (!impl_->pipeline.finished()) impl_->stream->cancel();
}

Result<std::unique_ptr<Generation>> Generation::submit(std::shared_ptr<LoadedModel> model,
                                                       std::vector<text::TokenId> prompt,
                                                       const Input& input, const Request& request,
                                                       const ServerDefaults& defaults, int choice) {
  engine::GenerateRequest job;
  job.prompt = std::move(prompt);
  job.max_tokens = request.sampling.max_tokens ? request.sampling.max_tokens : defaults.max_tokens;
  job.stop_ids = model->tokenizer->stop_ids();
  job.sampling =
      sampling_values(request.sampling, defaults, model->defaults, thinks(*model, input, defaults));
  job.sampling.top_logprobs = request.top_logprobs;
  if (job.sampling.seed) *job.sampling.seed += std::uint64_t(choice);
  if (job.sampling.xtc_probability > 0) job.sampling.xtc_exempt = xtc_exempt(*model->tokenizer);
  const int prompt_tokens = int(job.prompt.size());
  job.score_prompt = request.echo && request.top_logprobs >= 0;
  std::string echo = job.score_prompt ? echo_text(*model, input, job.prompt) : "";
  auto format = output_format(*model, request, input, job.prompt);
  job.mask_anew = [&] { return answer_mask(*model, request, input, format, defaults); };
  auto mask = job.mask_anew();
  if (!mask) return fail(mask.error());
  job.mask = std::move(*mask);
  if (model->checkpoints) job.answer_scope = answer_scope(request, input, defaults);
  job.choice = choice;
  job.session = request.session;

  auto stream = model->submit(std::move(job));
  if (!stream) return fail(stream.error());
  OutputPipeline pipeline(model->tokenizer, request.stop, request.top_logprobs >= 0,
                          std::move(format));
  return std::unique_ptr<Generation>(new Generation(std::make_unique<Impl>(Impl{
      std::move(model), std::move(*stream), std::move(pipeline), prompt_tokens, std::move(echo)})));
}

Result<std::unique_ptr<Generation>> Generation::start(std::shared_ptr<LoadedModel> model,
                                                      const Request& request,
                                                      const ServerDefaults& defaults) {
  if (auto fits = may_fit(*model, request.input); !fits) return fail(fits.error());
  auto ids = prompt_ids(*model, request, defaults);
  if (!ids) return fail(ids.error());
  return submit(std::move(model), std::move(*ids), request.input, request, defaults, 0);
}

std::vector<Event> Generation::poll() {
  std::vector<Event> events;
  while (!impl_->pipeline.finished()) {
    const auto item = impl_->stream->try_pop();
    if (!item) break;
    impl_->take(*item, events);
  }
  return events;
}

std::vector<Event> Generation::next() {
  std::vector<Event> events;
  while (events.empty() && !impl_->pipeline.finished()) {
    impl_->take(impl_->stream->pop(), events);
  }
  return events;
}

void Generation::on_ready(std::function<void()> notify) {
  impl_->stream->on_ready(std::move(notify));
}

void Generation::cancel() { impl_->stream->cancel(); }

bool Generation::finished() const { return impl_->pipeline.finished(); }

int Generation::prompt_tokens() const { return impl_->prompt_tokens; }

Result<std::vector<text::TokenId>> prompt_ids(const LoadedModel& model, const Request& request,
                                              const ServerDefaults& defaults) {
  return encode_input(model, request.input, defaults);
}

}  // namespace hearth::services
