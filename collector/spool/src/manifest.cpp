#include "ridgeline/spool/manifest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"

namespace ridgeline::spool {

namespace {

using Json = nlohmann::json;

template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

template <typename T>
void get(const Json& object, const char* key, T& value) {
  if (auto found = object.find(key); found != object.end()) found->get_to(value);
}

template <typename T>
void get(const Json& object, const char* key, std::optional<T>& value) {
  if (auto found = object.find(key); found != object.end()) value = found->get<T>();
}

// Whether its numbers are whole, as those of every manifest are: what becomes of 1e300 as an integer is undefined.
bool has_whole_numbers(const Json& value) {
  if (!value.is_structured()) return !value.is_number_float();
  return std::all_of(value.begin(), value.end(), has_whole_numbers);
}

Json words_of(TierSet tiers) {
  Json words = Json::array();
  for (const Word<Tier>& word : Vocabulary<Tier>::kWords) {
    if (tiers.has(word.value)) words.push_back(word.text);
  }
  return words;
}

// Tiers of another version are passed over.
std::optional<TierSet> tiers_of(const Json& manifest) {
  std::vector<std::string> words;
  get(manifest, "tiers", words);
  TierSet tiers;
  for (const std::string& word : words) {
    if (const auto tier = parse_word<Tier>(word)) tiers |= *tier;
  }
  return words.empty() ? std::nullopt : std::optional(tiers);
}

std::map<std::string, std::string> cleaned(const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> clean;
  for (const auto& [name, value] : values) clean[clean_text(name)] = clean_text(value);
  return clean;
}

}  // namespace

Result<void> write_manifest(const std::string& directory, const LaunchManifest& manifest) {
  Json json = {
      {"manifest_version", kManifestVersion},
      {"working_directory", clean_text(manifest.working_directory)},
      {"output", clean_text(manifest.output)},
      {"host_name", clean_text(manifest.host_name)},
      {"os", clean_text(manifest.os)},
      {"ridgeline_version", manifest.ridgeline_version},
      {"schedule", manifest.schedule},
      {"step_range", clean_text(manifest.step_range)},
      {"tiers", manifest.tiers ? words_of(*manifest.tiers) : Json::array()},
      {"window", manifest.window},
      {"nccl_profiler", clean_text(manifest.nccl_profiler)},
      {"environment", cleaned(manifest.environment)},
      {"launcher_pid", manifest.launcher_pid},
      {"start_ns", manifest.start_ns},
      {"versions", cleaned(manifest.versions)},
  };
  json["program"] = Json::array();
  for (const std::string& word : manifest.program) json["program"].push_back(clean_text(word));
  json["redact"] = Json::array();
  for (const std::string& pattern : manifest.redact) json["redact"].push_back(clean_text(pattern));
  json["warnings"] = Json::array();
  for (const std::string& warning : manifest.warnings) json["warnings"].push_back(clean_text(warning));
  json["ranks"] = Json::array();
  for (const auto& [pid, rank] : manifest.ranks) json["ranks"].push_back({{"pid", pid}, {"rank", rank}});
  put(json, "git_commit", manifest.git_commit);
  put(json, "git_dirty", manifest.git_dirty);
  put(json, "end_ns", manifest.end_ns);
  put(json, "exit_status", manifest.exit_status);
  put(json, "exit_signal", manifest.exit_signal);

  const std::string path = directory + "/" + kManifestName;
  const std::string draft = path + ".new";
  const auto failed = [&](const std::string& what) {
    const int error = errno;
    std::remove(draft.c_str());
    return Failure{ErrorKind::io, fmt::format("cannot {} {}: {}", what, draft, std::strerror(error))};
  };
  {
    errno = 0;
    std::ofstream file(draft, std::ios::trunc);
    file << json.dump(2) << '\n';
    file.close();
    if (!file) return failed("write");
  }
  if (std::rename(draft.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

Result<std::optional<LaunchManifest>> read_manifest(const std::string& directory) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const std::string path = directory + "/" + kManifestName;
  if (access(path.c_str(), F_OK) != 0) return std::optional<LaunchManifest>{};
  const Result<std::string> text = read_file(path, kMaxBytes);
  if (!text.ok()) return Failure{text.failure().kind, fmt::format("{}: {}", path, text.failure().message)};
  LaunchManifest manifest;
  try {
    const Json json = Json::parse(text.value());
    if (!has_whole_numbers(json)) {
      return Failure{ErrorKind::corrupt,
                     fmt::format("{} cannot be understood: a number of it is not whole", path)};
    }
    int version = 0;
    get(json, "manifest_version", version);
    if (version < 1 || version > kManifestVersion) {
      return Failure{ErrorKind::corrupt, fmt::format("{} is of version {}, this Ridgeline reads up to {}",
                                                     path, version, kManifestVersion)};
    }
    get(json, "program", manifest.program);
    get(json, "working_directory", manifest.working_directory);
    get(json, "output", manifest.output);
    get(json, "host_name", manifest.host_name);
    get(json, "os", manifest.os);
    get(json, "ridgeline_version", manifest.ridgeline_version);
    get(json, "schedule", manifest.schedule);
    get(json, "step_range", manifest.step_range);
    manifest.tiers = tiers_of(json);
    get(json, "window", manifest.window);
    get(json, "nccl_profiler", manifest.nccl_profiler);
    get(json, "environment", manifest.environment);
    get(json, "redact", manifest.redact);
    get(json, "launcher_pid", manifest.launcher_pid);
    get(json, "start_ns", manifest.start_ns);
    get(json, "versions", manifest.versions);
    get(json, "warnings", manifest.warnings);
    get(json, "git_commit", manifest.git_commit);
    get(json, "git_dirty", manifest.git_dirty);
    get(json, "end_ns", manifest.end_ns);
    get(json, "exit_status", manifest.exit_status);
    get(json, "exit_signal", manifest.exit_signal);
    if (auto ranks = json.find("ranks"); ranks != json.end()) {
      for (const Json& entry : *ranks) manifest.ranks[entry.at("pid")] = entry.at("rank");
    }
  } catch (const Json::exception& error) {
    return Failure{ErrorKind::corrupt,
                   fmt::format("{} cannot be understood: {}", path, one_line(error.what()))};
  }
  return std::optional<LaunchManifest>(std::move(manifest));
}

}  // namespace ridgeline::spool
