#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace hearth {

Result<std::string> read_file(const fs::path& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    return fail(ErrorCode::io, fmt::format("{}: is a folder, expected a file", path.string()));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const int why = errno;
    return fail(why == ENOENT ? ErrorCode::not_found : ErrorCode::io,
                fmt::format("{}: {}", path.string(), std::strerror(why)));
  }
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return fail(ErrorCode::io, fmt::format("{}: could not be read", path.string()));
  return bytes;
}

Result<Json> read_json_file(const fs::path& path) {
  auto text = read_file(path);
  if (!text) return fail(text.error());
  auto json = parse_json(*text);
  if (!json) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: {}", path.string(), json.error().message));
  }
  return json;
}

Result<void> write_file(const fs::path& path, std::string_view bytes,
                        std::optional<unsigned> mode) {
  std::error_code ec;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ec);
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto failed = [&](const char* step) {
    const int why = errno;
    fs::remove(temporary, ec);
    return fail(ErrorCode::io, fmt::format("{}: {}: {}", path.string(), step, std::strerror(why)));
  };
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode ? 0600 : 0644);
  if (fd < 0) return failed("could not be created");
  if (mode && ::fchmod(fd, *mode) != 0) {
    ::close(fd);
    return failed("permissions could not be set");
  }
  for (std::size_t done = 0; done < bytes.size();) {
    const auto n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ::close(fd);
      return failed("could not be written");
    }
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(fd) != 0 || ::close(fd) != 0) return failed("could not be written");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return failed("could not be renamed");
  return {};
}

}  // namespace hearth
