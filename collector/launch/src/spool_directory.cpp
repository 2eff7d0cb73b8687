#include "spool_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/base/text.h"
#include "ridgeline/spool/environment.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::launch {

namespace fs = std::filesystem;

namespace {

// errno of the last try if no name could be made.
int make_in(const fs::path& parent, const std::string& stem, std::string& made) {
  for (int number = 1; number <= 1000; ++number) {
    const std::string name = number == 1 ? fmt::format("{}-{}.spool", stem, getpid())
                                         : fmt::format("{}-{}-{}.spool", stem, getpid(), number);
    const fs::path path = parent / name;
    if (mkdir(path.c_str(), 0700) == 0) {
      made = path.string();
      return 0;
    }
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

}  // namespace

Result<SpoolDirectory> SpoolDirectory::create(const std::string& parent, const std::string& stem,
                                              bool fall_back) {
  std::error_code code;
  const fs::path wanted = (fs::absolute(parent.empty() ? "." : parent, code) / "").lexically_normal();
  std::string made;
  const int error = make_in(wanted, stem, made);
  if (error == 0) return SpoolDirectory(made);
  std::string message =
      fmt::format("cannot make a spool directory in {}: {}", wanted.string(), std::strerror(error));
  if (fall_back) {
    const char* temporary = std::getenv("TMPDIR");
    const fs::path second = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
    if (make_in(fs::absolute(second, code), stem, made) == 0) return SpoolDirectory(made);
    message += fmt::format("; nor in {}", second.string());
  }
  return Failure{ErrorKind::io, message};
}

std::uint64_t SpoolDirectory::disk_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::string& path : spool::list_spools(path_)) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::vector<pid_t> SpoolDirectory::pids() const {
  std::vector<pid_t> pids;
  for (const std::string& path : spool::list_spools(path_)) {
    const std::string_view name = base_name(path);
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

std::vector<pid_t> SpoolDirectory::running_pids() const {
  std::vector<pid_t> running;
  const std::string mark = std::string(spool::environment::kSpoolDirectory) + "=" + path_;
  for (const pid_t pid : pids()) {
    std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) continue;
    for (const std::string& entry : split(text.str(), '\0')) {
      if (entry == mark) {
        running.push_back(pid);
        break;
      }
    }
  }
  return running;
}

void SpoolDirectory::remove() {
  std::error_code code;
  fs::remove_all(path_, code);
}

}  // namespace ridgeline::launch
