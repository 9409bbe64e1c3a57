// How many files and connections the system lets this process have open.
#pragma once

namespace hearth::cli {

/// Raises the soft limit as far as the hard one lets it, up to 10240 (macOS's most; its default
/// is 256, which a server's idle connections use up).
/// @return descriptors that may be open now
long raise_descriptor_limit();

}  // namespace hearth::cli
