#include "mapped_libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "child_process.h"
#include "library_symbol.h"
#include "ridgeline/base/text.h"

namespace ridgeline::launch {

namespace {

struct KnownLibrary {
  std::string_view file_prefix;
  const char* component;
};
constexpr KnownLibrary kLibraries[] = {
    {"libcublas.so", "cublas"}, {"libcublasLt.so", "cublaslt"},   {"libcudnn.so", "cudnn"},
    {"libnccl.so", "nccl"},     {"libcudart.so", "cuda_runtime"},
};

// Runs in a child process. NVIDIA's documented version functions; none of them needs a GPU.
std::string ask_library(const std::string& component, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto decimal = [](std::size_t v) {
    return fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100);
  };
  if (component == "cublas" || component == "cublaslt") {
    const char* name = component == "cublas" ? "cublasGetProperty" : "cublasLtGetProperty";
    const auto property = symbol<int (*)(int, int*)>(library, name);
    int part[3] = {};
    if (property == nullptr) return "";
    for (int i = 0; i < 3; ++i) {
      if (property(i, &part[i]) != 0) return "";
    }
    return fmt::format("{}.{}.{}", part[0], part[1], part[2]);
  }
  if (component == "cudnn") {
    const auto version = symbol<std::size_t (*)()>(library, "cudnnGetVersion");
    return version == nullptr ? "" : decimal(version());
  }
  int number = 0;
  if (component == "nccl") {
    const auto version = symbol<int (*)(int*)>(library, "ncclGetVersion");
    return version == nullptr || version(&number) != 0 ? "" : decimal(static_cast<std::size_t>(number));
  }
  if (component == "cuda_runtime") {
    const auto version = symbol<int (*)(int*)>(library, "cudaRuntimeGetVersion");
    return version == nullptr || version(&number) != 0
               ? ""
               : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  }
  return "";
}

}  // namespace

void MappedLibraries::look_at(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  if (!maps) return;
  std::stringstream text;
  text << maps.rdbuf();
  look_at_maps(text.str());
}

void MappedLibraries::look_at_maps(std::string_view maps) {
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const std::size_t slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view path = line.substr(slash);
    const std::string_view file = base_name(path);
    for (const KnownLibrary& known : kLibraries) {
      if (file.substr(0, known.file_prefix.size()) == known.file_prefix) {
        paths_.emplace(known.component, std::string(path));
      }
    }
  }
}

std::map<std::string, std::string> MappedLibraries::versions() const {
  std::map<std::string, std::string> versions;
  for (const auto& [component, path] : paths_) {
    if (const auto version = library_version(component, path)) versions[component] = *version;
  }
  return versions;
}

std::optional<std::string> library_version(const std::string& component, const std::string& path) {
  std::error_code code;
  const std::filesystem::path real = std::filesystem::canonical(path, code);
  const std::string file = code ? std::string(base_name(path)) : real.filename().string();
  const std::size_t suffix = file.find(".so.");
  const std::string number = suffix == std::string::npos ? "" : file.substr(suffix + 4);
  const bool plain = number.find_first_not_of("0123456789.") == std::string::npos;
  if (plain && std::count(number.begin(), number.end(), '.') >= 2) return number;
  const auto answer = run_isolated([&] { return ask_library(component, path); }, std::chrono::seconds(20));
  if (answer && !answer->empty()) return one_line(*answer);
  return plain && !number.empty() ? std::optional(number) : std::nullopt;
}

std::optional<int> rank_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  const std::vector<std::string> entries = split(text.str(), '\0');
  for (const std::string_view name : {"RANK=", "OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK="}) {
    for (const std::string& entry : entries) {
      if (entry.rfind(name, 0) != 0) continue;
      int rank = 0;
      const char* first = entry.data() + name.size();
      const char* last = entry.data() + entry.size();
      const auto parsed = std::from_chars(first, last, rank);
      if (parsed.ec == std::errc() && parsed.ptr == last && rank >= 0) return rank;
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::launch
