#include "tiers/available_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace ridgeline::agent {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// Calls `take` with each line; false if there is no such file.
bool for_each_line(const std::string& path, const std::function<void(const char*)>& take) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) return false;
  char line[4352];  // the path of a cgroup is one of at most 4096 bytes
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    take(line);
  }
  return true;
}

// The number that follows `key` at the start of a line, which is all of the line if the key is empty.
std::optional<std::uint64_t> number_in(const std::string& path, const std::string& key) {
  std::optional<std::uint64_t> found;
  for_each_line(path, [&](const char* line) {
    unsigned long long value = 0;
    if (!found && std::strncmp(line, key.c_str(), key.size()) == 0 &&
        std::sscanf(line + key.size(), "%llu", &value) == 1)
      found = value;
  });
  return found;
}

struct CgroupFiles {
  const char *limit, *used, *reclaimable;
};
constexpr CgroupFiles kVersion2{"/memory.max", "/memory.current", "inactive_file "};
constexpr CgroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file "};

// "max" is no number, and so no limit.
std::uint64_t left_in(const std::string& folder, const CgroupFiles& files) {
  const auto limit = number_in(folder + files.limit, "");
  const auto used = number_in(folder + files.used, "");
  if (!limit || !used) return kNoLimit;
  const std::uint64_t reclaimable = number_in(folder + "/memory.stat", files.reclaimable).value_or(0);
  const std::uint64_t held = *used - std::min(*used, reclaimable);
  return *limit - std::min(*limit, held);
}

// A container may see neither the folder of its own path nor those above, but its limit at the root.
std::uint64_t left_up_to_root(const std::string& root, std::string path, const CgroupFiles& files) {
  std::uint64_t least = kNoLimit;
  while (!path.empty() && path.back() == '/') path.pop_back();
  while (true) {
    least = std::min(least, left_in(root + path, files));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

// Of one line of /proc/self/cgroup: "0::/path", or "4:cpu,memory:/path".
std::uint64_t left_by(const std::string& line, const std::string& cgroups) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return kNoLimit;
  const std::string path = line.substr(second + 1);
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  if (controllers == ",,") return left_up_to_root(cgroups, path, kVersion2);
  if (controllers.find(",memory,") == std::string::npos) return kNoLimit;
  return left_up_to_root(cgroups + "/memory", path, kVersion1);
}

}  // namespace

std::optional<std::uint64_t> available_memory(const char* proc, const char* cgroups) noexcept {
  try {
    std::uint64_t least = kNoLimit;
    if (const auto kib = number_in(std::string(proc) + "/meminfo", "MemAvailable:")) least = *kib * 1024;
    for_each_line(std::string(proc) + "/self/cgroup",
                  [&](const char* line) { least = std::min(least, left_by(line, cgroups)); });
    if (least != kNoLimit) return least;
  } catch (...) {  // no memory for a path: it is not known
  }
  return {};
}

}  // namespace ridgeline::agent
