// The models of a running server with what is said of each. SIGHUP has them looked for again.
#pragma once

#include <memory>
#include <mutex>

#include "cli/served_models.h"

namespace hearth::cli {

/// A file in place of a model's chat template; both empty: its own.
struct TemplateFile {
  std::string file, source;
};

/// Error: usage, naming the file.
Result<TemplateFile> read_template(const std::string& file);

class ModelList {
 public:
  struct Entry {
    ModelSettings settings;
    std::string section;  // in the config file; empty: none
    TemplateFile chat_template;
  };

  /// Looks for the models. Where that fails, what was known stands. Any thread.
  /// @param common  of models that have no template file of their own
  /// Errors: of served_models() and read_template().
  Result<void> look(const ServedModelsOptions& options, const PoolFlags& flags,
                    const TemplateFile& common, const Context& context);

  /// As the last look() found them, the first one first. Any thread.
  std::vector<services::CatalogModel> catalog() const;
  services::PoolLimits limits() const;
  /// Errors: unavailable, for a model that is gone since.
  Result<Entry> find(const services::CatalogModel& model) const;

 private:
  struct Found {
    ServedModels models;
    std::vector<TemplateFile> templates;  // of each
  };
  std::shared_ptr<const Found> found() const;

  mutable std::mutex mutex_;  // guards found_
  std::shared_ptr<const Found> found_;
};

}  // namespace hearth::cli
