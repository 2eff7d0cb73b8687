#include "ranking_hints.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"

namespace ridgeline::reports {

using analyzer::RankingKey;

std::string leave_out_brief_rows(const analyzer::Ranking& ranking, double min_share, Table& table) {
  if (min_share <= 0) return "";
  std::vector<std::size_t> kept;
  std::int64_t brief_ns = 0;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    if (ranking.rows[i].step_share >= min_share) {
      kept.push_back(i);
    } else {
      brief_ns += ranking.rows[i].time_ns;
    }
  }
  const auto left_out = static_cast<std::int64_t>(ranking.rows.size() - kept.size());
  if (left_out == 0) return "";
  table.pick(std::move(kept));
  return fmt::format("{} of less than {} of the {} {} left out: {} together.", counted(left_out, "row"),
                     percent_text(min_share), scope_noun(ranking.scope), left_out == 1 ? "is" : "are",
                     time_text(static_cast<double>(brief_ns)));
}

std::string no_range_line(const analyzer::Ranking& ranking) {
  std::string text;
  for (std::size_t k = 0; k < ranking.options.key.all().size(); ++k) {
    const RankingKey key = ranking.options.key.all()[k];
    if (key != RankingKey::nvtx_path && key != RankingKey::phase && key != RankingKey::layer) continue;
    std::int64_t calls = 0, time_ns = 0, all_calls = 0;
    for (const analyzer::RankingRow& row : ranking.rows) {
      all_calls += row.calls;
      if (k >= row.keys.size() || row.keys[k] != analyzer::kNoRange) continue;
      calls += row.calls;
      time_ns += row.time_ns;
    }
    if (calls == 0) continue;
    const char* why = key == RankingKey::nvtx_path ? "in no NVTX range of the thread that launched"
                      : key == RankingKey::phase
                          ? "in no NVTX range below the outermost one"
                          : "in no NVTX range whose name ends in a number, as \"layer 3\"";
    text += fmt::format("{}{} ({}) {} {}.", text.empty() ? "(no range): " : " ",
                        counted(calls, "launch", "launches"), time_text(static_cast<double>(time_ns)),
                        calls == 1 ? "is" : "are", why);
    if (calls == all_calls) text += " docs/guide/pytorch.md says how a program opens ranges.";
  }
  return text;
}

std::string undeclared_line(const analyzer::Throughput& throughput) {
  if (throughput.scope != analyzer::ScopeKind::step || throughput.declared_flops) return "";
  const char* missing = throughput.size.tokens ? "MFU is" : "MFU and tokens/s are";
  if (throughput.imported)
    return fmt::format(
        "{} not known: the trace has no shapes of operations, as torch.profiler's with record_shapes=True "
        "has, "
        "and says no tokens.",
        missing);
  return fmt::format("{} not known: the program declares no {}. docs/cli.md, \"Declared work\", says how.",
                     missing, throughput.size.tokens ? "FLOPs" : "FLOPs and no tokens");
}

}  // namespace ridgeline::reports
