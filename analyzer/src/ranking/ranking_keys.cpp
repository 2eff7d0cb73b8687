#include "ridgeline/analyzer/ranking/ranking_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ridgeline::analyzer {

namespace {

constexpr std::array kKeys = {RankKey::kernel,       RankKey::kernel_and_grid, RankKey::family,
                              RankKey::kernel_class, RankKey::nvtx_path,       RankKey::phase,
                              RankKey::layer,        RankKey::launch};

// The first says the second: rows of both would be rows of the first alone.
constexpr std::pair<RankKey, RankKey> kSays[] = {{RankKey::kernel_and_grid, RankKey::kernel},
                                                 {RankKey::kernel_and_grid, RankKey::family},
                                                 {RankKey::kernel_and_grid, RankKey::kernel_class},
                                                 {RankKey::kernel, RankKey::family},
                                                 {RankKey::kernel, RankKey::kernel_class},
                                                 {RankKey::nvtx_path, RankKey::phase},
                                                 {RankKey::nvtx_path, RankKey::layer}};

std::string quoted(RankKey key) {
  return "'" + std::string(to_string(key)) + "'";
}

std::optional<RankKey> key_named(std::string_view name) {
  if (name == "op") return RankKey::nvtx_path;
  const auto key = std::find_if(kKeys.begin(), kKeys.end(), [&](RankKey k) { return to_string(k) == name; });
  return key == kKeys.end() ? std::nullopt : std::optional(*key);
}

// Why a key cannot stand beside those before it; "" if it can.
std::string objection(const std::vector<RankKey>& before, RankKey key) {
  for (const RankKey other : before) {
    if (other == key) return quoted(key) + " is named twice";
    if (other == RankKey::launch || key == RankKey::launch) return "'launch' goes with no other key";
    for (const auto& [says, said] : kSays) {
      if ((other == says && key == said) || (other == said && key == says))
        return quoted(says) + " says " + quoted(said) + " already";
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(RankKey key) {
  switch (key) {
    case RankKey::kernel:
      return "kernel";
    case RankKey::kernel_and_grid:
      return "kernel-grid";
    case RankKey::family:
      return "family";
    case RankKey::kernel_class:
      return "class";
    case RankKey::nvtx_path:
      return "nvtx";
    case RankKey::phase:
      return "phase";
    case RankKey::layer:
      return "layer";
    case RankKey::launch:
      return "launch";
  }
  return "kernel";
}

bool RankKeys::has(RankKey key) const {
  return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
}

std::string to_string(const RankKeys& keys) {
  std::string text;
  for (const RankKey key : keys.all()) text += (text.empty() ? "" : ",") + std::string(to_string(key));
  return text;
}

Result<RankKeys> parse_rank_keys(std::string_view text) {
  std::vector<RankKey> keys;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = rest.find(',');
    const std::string_view name = rest.substr(0, end);
    const std::optional<RankKey> key = key_named(name);
    if (!key) {
      std::string names;
      for (const RankKey known : kKeys) names += (names.empty() ? "" : ", ") + std::string(to_string(known));
      return Failure{ErrorKind::usage, "cannot rank by '" + std::string(name) + "': use one of " + names +
                                           ", or several with commas between"};
    }
    if (const std::string why = objection(keys, *key); !why.empty())
      return Failure{ErrorKind::usage, "cannot rank by '" + std::string(text) + "': " + why};
    keys.push_back(*key);
    if (end == std::string_view::npos) return RankKeys(std::move(keys));
    rest.remove_prefix(end + 1);
  }
}

std::string joined_keys(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : " · ") + key;
  return text;
}

}  // namespace ridgeline::analyzer
