// Where things live on disk: the XDG folders (or their macOS counterparts), HEARTH_HOME in their
// stead, and the Hugging Face Hub cache that is shared with other programs.
// Nothing here creates a folder but make_private_folder(): they come to be on first write.
#pragma once

#include <filesystem>

#include "base/environment.h"
#include "base/result.h"

namespace hearth {

struct Folders {
  std::filesystem::path config;   // config.toml, settings, saved Hub token
  std::filesystem::path data;     // the user's own: models/, adapters/, datasets/, exports/, wiki/
  std::filesystem::path state;    // chat sessions, history, jobs, logs
  std::filesystem::path cache;    // model index, compiled kernels; may be deleted
  std::filesystem::path runtime;  // sockets
  std::filesystem::path hub;      // Hugging Face Hub cache: models--org--name/...

  bool operator==(const Folders&) const = default;
};

/// Folders for an environment: HEARTH_HOME, HEARTH_CACHE, XDG_*_HOME, XDG_RUNTIME_DIR, TMPDIR; for
/// the Hub cache HF_HUB_CACHE, then HF_HOME/hub, then XDG_CACHE_HOME/huggingface/hub.
/// A relative XDG folder is ignored, as that standard asks. Without HOME the password file is
/// asked.
Folders find_folders(const Environment& environment);

/// Creates `folder` with mode 0700 where it is missing; its parents too.
/// Errors: io, naming the folder and the reason.
Result<void> make_private_folder(const std::filesystem::path& folder);

}  // namespace hearth
