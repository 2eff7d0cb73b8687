#include "ridgeline/launch/tiers.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/text.h"

namespace ridgeline::launch {

Result<TierSet> read_tiers(std::string_view text) {
  TierSet tiers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const std::optional<Tier> tier = parse_word<Tier>(part);
    if (!tier) {
      return Failure{
          ErrorKind::usage,
          fmt::format("tiers: \"{}\" is no tier; write them like T0,T2 (there are T0, T1, T2 and T3)",
                      one_line(part))};
    }
    tiers |= *tier;
    at = end + 1;
  }
  return tiers;
}

}  // namespace ridgeline::launch
