#include "ridgeline/experiment/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::experiment {
namespace {

constexpr std::string_view kList = "captures.txt";
constexpr std::string_view kCapture = ".ridge";
constexpr std::string_view kLog = ".log";

void remove_recording(const std::filesystem::path& stem) {
  std::error_code ignored;
  for (const std::string_view suffix : {kCapture, kLog}) {
    const std::filesystem::path file = stem.string() + std::string(suffix);
    if (!std::filesystem::is_directory(file, ignored)) std::filesystem::remove(file, ignored);
  }
}

// Whether a name is a prefix and a number.
bool is_numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A list that somebody else wrote is no reason to remove what lies elsewhere.
bool is_own(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  return name.find('/') == std::string::npos && dash != std::string::npos &&
         is_numbered(name, std::string_view(name).substr(0, dash + 1));
}

}  // namespace

ExperimentDirectory::ExperimentDirectory(const std::string& path)
    : path_(std::filesystem::absolute(path).lexically_normal().string()) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw Error(ErrorKind::io, fmt::format("{}: {}", path, error.message()));
  const std::filesystem::path list = std::filesystem::path(path_) / kList;
  if (std::filesystem::is_regular_file(list, error)) {
    std::ifstream file(list);
    for (std::string line; std::getline(file, line);) {
      if (!line.ends_with(kCapture)) continue;
      line.resize(line.size() - kCapture.size());
      if (is_own(line)) remove_recording(std::filesystem::path(path_) / line);
    }
  }
  std::filesystem::remove(list, error);
}

void ExperimentDirectory::remove_numbered(const std::string& stem) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::filesystem::path& file = entry.path();
    if ((file.extension() == kCapture || file.extension() == kLog) && is_numbered(file.stem().string(), stem))
      remove_recording(file.parent_path() / file.stem());
  }
}

std::string ExperimentDirectory::claim(const std::string& name) {
  const std::filesystem::path stem = std::filesystem::path(path_) / name;
  remove_recording(stem);
  if (claimed_.insert(name).second) {
    std::ofstream list(std::filesystem::path(path_) / kList, std::ios::app);
    list << name << kCapture << '\n';
    if (!list.flush()) throw Error(ErrorKind::io, fmt::format("{}/{} cannot be written", path_, kList));
  }
  return stem.string();
}

}  // namespace ridgeline::experiment
