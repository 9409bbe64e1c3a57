// Sets a client up for good and undoes it exactly. What the file was before, and what we made of
// it, are kept in hearth's state folder until then.
#pragma once

#include <filesystem>
#include <string>

#include "cli/launch/client.h"

namespace hearth::cli {

class Setup {
 public:
  /// @param state  hearth's state folder; the record lies in `launch/NAME` below it
  Setup(const std::filesystem::path& state, std::string_view client);

  /// Writes the file. Done twice, the first state is the one that remove() brings back.
  /// @param force  also where the user has edited our settings since, or has a file of their own
  ///               where ours would stand
  /// Errors: io (cannot be written, a symbolic link), corrupt_file, unsupported (no file that we
  /// can add to), invalid_request (edited since; a foreign file). Nothing has been changed then.
  Result<void> write(const ClientFile& file, bool force);

  enum class Removed { restored, deleted, taken_out, nothing };
  /// Brings the file back byte for byte, or deletes what was not there.
  /// @param force  where it was edited since: takes out our settings alone
  /// Errors: io; invalid_request (edited since).
  Result<Removed> remove(const ClientFile& file, bool force);

 private:
  struct Record;
  std::optional<Record> read_record() const;
  Result<void> write_record(const Record& record) const;
  void drop_record() const;
  Result<std::optional<std::string>> base_of(const ClientFile& file, const Record& record,
                                             bool force) const;
  std::string edited(const std::filesystem::path& file) const;

  const std::filesystem::path folder_;
  const std::string client_;
};

}  // namespace hearth::cli
