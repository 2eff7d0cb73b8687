#include "program_environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>

#include "child_process.h"
#include "ridgeline/base/text.h"

extern char** environ;

namespace ridgeline::launch {

namespace {

constexpr std::string_view kPrefixes[] = {
    "CUDA_",   "CUDNN", "CUBLAS", "CUTLASS_", "NCCL_",
    "NVIDIA_", "NVTE_", "NVTX_",  "NVSHMEM_", "UCX_",
    "OMP_",    "MKL_",  "KMP_",   "PYTORCH_", "TORCH",
    "TRITON_", "JAX_",  "XLA_",   "TF_",      "OMPI_COMM_WORLD_",
    "SLURM_",
};
constexpr std::string_view kNames[] = {
    "LD_LIBRARY_PATH",   "LD_PRELOAD",       "RANK",        "WORLD_SIZE",   "LOCAL_RANK", "LOCAL_WORLD_SIZE",
    "GOMP_CPU_AFFINITY", "MALLOC_ARENA_MAX", "VIRTUAL_ENV", "CONDA_PREFIX",
};
constexpr std::string_view kSecrets[] = {"TOKEN",  "SECRET",  "PASSW",   "CREDENTIAL",
                                         "APIKEY", "API_KEY", "PRIVATE", "ACCESS_KEY",
                                         "COOKIE", "AUTH",    "JWT",     "LICENSE"};

bool is_relevant(std::string_view name) {
  const bool wanted =
      std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                  [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; }) ||
      std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  const bool secret = std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
  return wanted && !secret;
}

// "scheme://user:password@host" loses the password.
std::string without_password(std::string_view value) {
  const std::size_t scheme = value.find("://");
  if (scheme == std::string_view::npos) return std::string(value);
  const std::size_t at = value.find('@', scheme + 3);
  const std::size_t colon = value.find(':', scheme + 3);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at)
    return std::string(value);
  return std::string(value.substr(0, colon + 1)) + "***" + std::string(value.substr(at));
}

}  // namespace

std::map<std::string, std::string> relevant_environment(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> relevant;
  for (const std::string& entry : environment) {
    const std::size_t equal = entry.find('=');
    if (equal == std::string::npos || equal == 0) continue;
    const std::string name = entry.substr(0, equal);
    if (is_relevant(name)) relevant[one_line(name)] = one_line(without_password(entry.substr(equal + 1)));
  }
  return relevant;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

WorkingTree working_tree(const std::string& directory) {
  WorkingTree tree;
  // --no-optional-locks: looking must not write to somebody's repository.
  const auto head = run_and_capture({"git", "--no-optional-locks", "rev-parse", "--verify", "HEAD"},
                                    std::chrono::seconds(10), directory);
  if (!head || head->exit_status != 0) return tree;
  std::string commit = head->output.substr(0, head->output.find('\n'));
  const bool is_hash = commit.size() >= 40 && std::all_of(commit.begin(), commit.end(), [](unsigned char c) {
                         return std::isxdigit(c) != 0;
                       });
  if (!is_hash) return tree;
  tree.commit = std::move(commit);
  const auto status =
      run_and_capture({"git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=no"},
                      std::chrono::seconds(30), directory);
  if (status && status->exit_status == 0) tree.dirty = !status->output.empty();
  return tree;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? one_line(name.data()) : "";
}

std::string operating_system() {
  std::string distribution;
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    constexpr std::string_view key = "PRETTY_NAME=";
    if (line.rfind(key, 0) != 0) continue;
    distribution = line.substr(key.size());
    if (distribution.size() >= 2 && distribution.front() == '"') {
      distribution = distribution.substr(1, distribution.size() - 2);
    }
  }
  utsname system{};
  if (uname(&system) != 0) return one_line(distribution);
  return one_line(fmt::format("{}{}{} {} {}", distribution, distribution.empty() ? "" : ", ", system.sysname,
                              system.release, system.machine));
}

}  // namespace ridgeline::launch
