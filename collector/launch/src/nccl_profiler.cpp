#include "nccl_profiler.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

#include "ridgeline/launch/libraries.h"

namespace ridgeline::launch {

namespace {

constexpr std::size_t kLongestPath = 254;
constexpr const char* kOwnLibrary = "libnccl-profiler.so";
constexpr const char* kConfigurationFile = "NCCL_CONF_FILE";

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
  std::string value;
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      value = entry.substr(name.size() + 1);
  }
  return value;
}

// As NCCL reads it: NAME=value from the line's beginning on.
bool sets_plugin(const std::string& file) {
  constexpr std::size_t kLongestFile = 1 << 20;
  std::ifstream lines(file);
  const std::string begin = std::string(kNcclProfiler) + "=";
  std::size_t read = 0;
  for (std::string line; read < kLongestFile && std::getline(lines, line); read += line.size() + 1) {
    if (line.starts_with(begin)) return true;
  }
  return false;
}

std::string home_directory() {
  std::array<char, 16'384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      found->pw_dir == nullptr)
    return "";
  return found->pw_dir;
}

}  // namespace

std::string nccl_profiler_in_place(const std::vector<std::string>& environment,
                                   const std::vector<std::string>& program, const std::string& system_file) {
  if (!value_of(environment, kNcclProfiler).empty()) return kNcclProfiler;
  // The one that the variable names takes the place of the user's own; older versions do not know the variable.
  for (const std::string& file :
       {value_of(environment, kConfigurationFile), home_directory() + "/.nccl.conf", system_file}) {
    if (!file.empty() && sets_plugin(file)) return file;
  }
  return find_cuda_library({kOwnLibrary}, program).value_or("");
}

bool nccl_takes_path(const std::string& path) {
  return path.size() <= kLongestPath;
}

}  // namespace ridgeline::launch
