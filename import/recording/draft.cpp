#include "recording/draft.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ridgeline/store/kept_file.h"

namespace ridgeline::import {

Draft::Draft(const std::string& output)
    : output_(output),
      path_(fmt::format("{}.{}.draft", output, getpid())),
      files_({path_, path_ + "-journal", path_ + "-wal", path_ + "-shm"}) {
  files_.remove();
}

std::string Draft::directory() const {
  return std::filesystem::path(output_).parent_path().string();
}

Result<void> Draft::publish(bool overwrite) {
  struct stat status {};  // again: somebody may have made one meanwhile
  if (stat(output_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return Failure{ErrorKind::usage,
                   fmt::format("{} is no file that can be replaced: name another", output_)};
  const int failed =
      overwrite ? rename(path_.c_str(), output_.c_str()) : link(path_.c_str(), output_.c_str());
  if (failed == 0) return {};
  const int error = errno;
  if (!overwrite && (error == EPERM || error == EOPNOTSUPP || error == ENOSYS)) {  // no hard links there
    if (access(output_.c_str(), F_OK) != 0 && rename(path_.c_str(), output_.c_str()) == 0) return {};
  }
  if (error == EEXIST) {
    return Failure{ErrorKind::usage,
                   fmt::format("{} exists: give another name, or --force to replace it", output_)};
  }
  return Failure{ErrorKind::io, fmt::format("cannot make {}: {}", output_, std::strerror(error))};
}

// A device or a pipe that is renamed over is gone, for every program of the machine.
Result<void> check_output(const std::string& output, bool overwrite) {
  const auto usage = [](std::string text) { return Failure{ErrorKind::usage, std::move(text)}; };
  if (output.empty()) return usage("the name of the capture is empty");
  if (output == "-") return usage("a capture cannot be written to the standard output: name a file");
  std::error_code code;
  const std::filesystem::file_status itself = std::filesystem::symlink_status(output, code);
  if (!overwrite && std::filesystem::exists(itself))
    return usage(fmt::format("{} exists: give another name, or --force to replace it", output));
  const std::filesystem::file_status status = std::filesystem::status(output, code);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return usage(fmt::format("{} is no file that can be replaced: name another", output));
  const store::KeptKind kept = store::kept_kind(output);
  if (kept != store::KeptKind::none && kept != store::KeptKind::capture)
    return usage(fmt::format("{} is {}, which is not written over: name another file", output,
                             store::kept_name(kept)));
  const std::filesystem::path parent = std::filesystem::path(output).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent, code))
    return usage(fmt::format("{} is no directory: make it, or write elsewhere", parent.string()));
  return {};
}

}  // namespace ridgeline::import
