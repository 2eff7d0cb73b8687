#include "ridgeline/launch/tracing_cost.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "child_process.h"
#include "ridgeline/base/statistics.h"
#include "tracing_loop.h"

namespace ridgeline::launch {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::size_t kMinTurns = 4;

// Of a median of differences, half of its 95 % interval.
double error_of(const std::vector<double>& differences) {
  return student_95(static_cast<double>(differences.size() - 1)) * error_of_median(differences);
}

}  // namespace

std::optional<KeptTracing> kept_tracing_of(const std::vector<TracingTurn>& turns) {
  if (turns.size() < kMinTurns) return std::nullopt;
  std::vector<double> kept, gone;
  for (const TracingTurn& turn : turns) {
    kept.push_back(turn.off - turn.without);
    gone.push_back(turn.recorded - turn.off);
  }
  const double kept_ns = std::max(median(kept), 0.0), gone_ns = median(gone);
  const double kept_error = error_of(kept), gone_error = error_of(gone);
  if (!(gone_ns > 2 * gone_error)) return std::nullopt;
  const double share = kept_ns / gone_ns;
  return KeptTracing{share, std::hypot(kept_error, share * gone_error) / gone_ns};
}

std::optional<KeptTracing> measure_kept_tracing(const std::string& cupti_library) {
  const auto answer = run_isolated(
      [&] {
        nlohmann::json turns = nlohmann::json::array();
        for (const TracingTurn& turn : time_tracing(cupti_library))
          turns.push_back({turn.without, turn.recorded, turn.off});
        return turns.dump();
      },
      kPatience);
  if (!answer) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(*answer, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  std::vector<TracingTurn> turns;
  for (const auto& turn : json) turns.push_back({turn.at(0), turn.at(1), turn.at(2)});
  return kept_tracing_of(turns);
}

}  // namespace ridgeline::launch
