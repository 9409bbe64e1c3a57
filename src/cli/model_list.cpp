#include "cli/model_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace hearth::cli {

Result<TemplateFile> read_template(const std::string& file) {
  auto source = read_file(file);
  if (source) return TemplateFile{file, std::move(*source)};
  return fail(ErrorCode::usage, fmt::format("--chat-template: {}", source.error().message));
}

Result<void> ModelList::look(const ServedModelsOptions& options, const PoolFlags& flags,
                             const TemplateFile& common, const Context& context) {
  auto models = served_models(options, flags, context);
  if (!models) return fail(models.error());
  auto found = std::make_shared<Found>();
  for (const auto& settings : models->settings) {
    const auto& own = settings.template_file;
    auto read = own.empty() ? Result<TemplateFile>(common) : read_template(own);
    if (!read) return fail(read.error());
    found->templates.push_back(std::move(*read));
  }
  found->models = std::move(*models);
  const std::scoped_lock lock(mutex_);
  found_ = std::move(found);
  return {};
}

std::shared_ptr<const ModelList::Found> ModelList::found() const {
  const std::scoped_lock lock(mutex_);
  return found_;
}

std::vector<services::CatalogModel> ModelList::catalog() const { return found()->models.catalog; }

services::PoolLimits ModelList::limits() const { return found()->models.limits; }

Result<ModelList::Entry> ModelList::find(const services::CatalogModel& model) const {
  const auto now = found();
  const auto& catalog = now->models.catalog;
  const auto at = std::ranges::find(catalog, model.id, &services::CatalogModel::id);
  if (at == catalog.end()) {
    return fail(ErrorCode::unavailable, fmt::format("{} is gone from this machine", model.id),
                "model");
  }
  const auto i = std::size_t(at - catalog.begin());
  return Entry{now->models.settings[i], now->models.sections[i], now->templates[i]};
}

}  // namespace hearth::cli
