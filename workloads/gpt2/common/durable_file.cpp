#include "gpt2/common/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

// Some systems refuse a single write of 2 GiB and more.
constexpr std::int64_t kLargestWrite = std::int64_t{1} << 30;

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

DurableFile::DurableFile(std::string what, std::string path)
    : what_(std::move(what)),
      path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail(errno);
}

DurableFile::~DurableFile() {
  if (descriptor_ < 0) return;
  struct stat status {};
  const bool regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  (void)::close(descriptor_);
  if (regular) (void)::unlink(path_.c_str());  // what was opened may be a device
}

void DurableFile::fail(int code) const {
  throw InputError(fmt::format("{} {}: {}", what_, path_, std::strerror(code)));
}

void DurableFile::write(const void* data, std::int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written =
        ::write(descriptor_, from, static_cast<std::size_t>(std::min(bytes, kLargestWrite)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    from += written;
    bytes -= written;
  }
}

void DurableFile::rewrite(std::int64_t offset, const void* data, std::int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, from, static_cast<std::size_t>(bytes), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    from += written;
    offset += written;
    bytes -= written;
  }
}

void DurableFile::close() {
  if (::fsync(descriptor_) != 0) fail(errno);
  // A network file system may report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
}

void durable_rename(const std::string& what, const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    throw InputError(fmt::format("{} {}: {}", what, to, std::strerror(errno)));
  }
  sync_directory(what, parent_of(to));
}

void sync_directory(const std::string& what, const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw InputError(fmt::format("{} {}: {}", what, directory, std::strerror(errno)));
  // Not every file system can: the names are then as durable as it makes them.
  const bool failed = ::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP;
  const int code = errno;
  (void)::close(descriptor);
  if (failed) throw InputError(fmt::format("{} {}: {}", what, directory, std::strerror(code)));
}

}  // namespace ridgeline::gpt2
