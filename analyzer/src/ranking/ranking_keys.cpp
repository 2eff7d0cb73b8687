#include "ridgeline/analyzer/ranking/ranking_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ridgeline::analyzer {

namespace {

constexpr std::array kKeys = {RankingKey::kernel,       RankingKey::kernel_and_grid, RankingKey::family,
                              RankingKey::kernel_class, RankingKey::nvtx_path,       RankingKey::phase,
                              RankingKey::layer,        RankingKey::launch};

// The first says the second: rows of both would be rows of the first alone.
constexpr std::pair<RankingKey, RankingKey> kSays[] = {
    {RankingKey::kernel_and_grid, RankingKey::kernel},
    {RankingKey::kernel_and_grid, RankingKey::family},
    {RankingKey::kernel_and_grid, RankingKey::kernel_class},
    {RankingKey::kernel, RankingKey::family},
    {RankingKey::kernel, RankingKey::kernel_class},
    {RankingKey::nvtx_path, RankingKey::phase},
    {RankingKey::nvtx_path, RankingKey::layer}};

std::string quoted(RankingKey key) {
  return "'" + std::string(to_string(key)) + "'";
}

std::optional<RankingKey> key_named(std::string_view name) {
  if (name == "op") return RankingKey::nvtx_path;
  const auto key =
      std::find_if(kKeys.begin(), kKeys.end(), [&](RankingKey k) { return to_string(k) == name; });
  return key == kKeys.end() ? std::nullopt : std::optional(*key);
}

// Why a key cannot stand beside those before it; "" if it can.
std::string objection(const std::vector<RankingKey>& before, RankingKey key) {
  for (const RankingKey other : before) {
    if (other == key) return quoted(key) + " is named twice";
    if (other == RankingKey::launch || key == RankingKey::launch) return "'launch' goes with no other key";
    for (const auto& [says, said] : kSays) {
      if ((other == says && key == said) || (other == said && key == says))
        return quoted(says) + " says " + quoted(said) + " already";
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(RankingKey key) {
  switch (key) {
    case RankingKey::kernel:
      return "kernel";
    case RankingKey::kernel_and_grid:
      return "kernel-grid";
    case RankingKey::family:
      return "family";
    case RankingKey::kernel_class:
      return "class";
    case RankingKey::nvtx_path:
      return "nvtx";
    case RankingKey::phase:
      return "phase";
    case RankingKey::layer:
      return "layer";
    case RankingKey::launch:
      return "launch";
  }
  return "kernel";
}

bool RankingKeys::has(RankingKey key) const {
  return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
}

std::string to_string(const RankingKeys& keys) {
  std::string text;
  for (const RankingKey key : keys.all()) text += (text.empty() ? "" : ",") + std::string(to_string(key));
  return text;
}

Result<RankingKeys> parse_ranking_keys(std::string_view text) {
  std::vector<RankingKey> keys;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = rest.find(',');
    const std::string_view name = rest.substr(0, end);
    const std::optional<RankingKey> key = key_named(name);
    if (!key) {
      std::string names;
      for (const RankingKey known : kKeys)
        names += (names.empty() ? "" : ", ") + std::string(to_string(known));
      return Failure{ErrorKind::usage, "cannot rank by '" + std::string(name) + "': use one of " + names +
                                           ", or several with commas between"};
    }
    if (const std::string why = objection(keys, *key); !why.empty())
      return Failure{ErrorKind::usage, "cannot rank by '" + std::string(text) + "': " + why};
    keys.push_back(*key);
    if (end == std::string_view::npos) return RankingKeys(std::move(keys));
    rest.remove_prefix(end + 1);
  }
}

std::string joined_keys(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : " · ") + key;
  return text;
}

}  // namespace ridgeline::analyzer
