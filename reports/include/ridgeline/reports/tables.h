// tables.h: the analyzer's results as tables. Keys of the columns are stable: docs/json.md documents them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

// Every table refers to what it was made from.

/// The ranking's rows, worst first; rows that are cut are summed in one line of the totals.
/// Groups of columns: `tiers` (T1 beside T2), `caches`, `cold`, `work` (declared beside measured).
[[nodiscard]] Table ranking_table(const analyzer::UtilisationAnalysis& utilisation,
                                  const analyzer::Ranking& ranking);

/// One row per kernel: verdict, utilisation, what was required. Missed ones first, then by share of the step.
/// `all` false leaves out the kernels that are below the least share.
[[nodiscard]] Table check_table(const analyzer::TargetCheck& check, const analyzer::Ranking& ranking,
                                bool all);

/// One row a case of advice, most gain first; `all`: then small ones, rules that cannot say, and healthy ones.
[[nodiscard]] Table advice_table(const analyzer::AdviceReport& report, bool all);

/// One row per step; the representative one is marked.
[[nodiscard]] Table steps_table(const analyzer::StepAnalysis& steps);

/// One row per phase: how many steps, how long they took, which stand out.
[[nodiscard]] Table phases_table(const std::vector<analyzer::PhaseSummary>& phases);

/// Where the step's time went; the rows add up to the totals' row.
[[nodiscard]] Table accounting_table(const analyzer::Accounting& accounting);

/// Kernel time of these parts of the program by what bounds it; the totals' row is of all kernels.
[[nodiscard]] Table bounds_table(const analyzer::Accounting& accounting,
                                 const std::vector<analyzer::TimePart>& parts);

/// The gaps of the step, longest first, with the kernels round them. Only the first `sorted` are in order, for who
/// keeps no more: there may be millions.
[[nodiscard]] Table gaps_table(const analyzer::Model& model, const analyzer::Accounting& accounting,
                               std::size_t sorted = SIZE_MAX);
/// "launch-bound", "CPU-bound", "synchronisation", "queued", "unknown", "tail".
[[nodiscard]] std::string gap_words(analyzer::GapKind kind);

/// One row per launch of the representative step, in order of launch.
[[nodiscard]] Table launches_table(const analyzer::Model& model, const analyzer::Analysis& analysis);

/// T1 beside T2 for the kernels that are long enough to compare, largest difference first.
[[nodiscard]] Table comparison_table(const analyzer::Quality& quality);

/// What the program declares beside what was measured.
[[nodiscard]] Table declared_work_table(const std::vector<analyzer::DeclaredWork>& work);

/// One row per kernel: how its samples of program counters divide, and the main stall reasons.
[[nodiscard]] Table stalls_table(const analyzer::StallAnalysis& stalls);
/// The source lines (or, without any, the instructions) of those kernels that most samples fell on.
[[nodiscard]] Table hot_spots_table(const analyzer::StallAnalysis& stalls);

/// Section, name and value of everything the capture says about its recording. `rows` of each database table.
[[nodiscard]] Table info_table(const analyzer::Model& model, const std::map<std::string, std::int64_t>& rows);

/// Rows of a query; columns of numbers are right-aligned.
[[nodiscard]] Table query_table(const store::Capture::Table& result);

/// "DRAM", the busiest pipe, "launch" (too short for any), "no roof" or "?": the nearest roof of a row of the
/// ranking, as in JSON.
[[nodiscard]] std::string nearest_roof_word(const analyzer::RankingRow& row);
/// For people: marked if another roof is as near, "xu≈"; "short" for "launch".
[[nodiscard]] std::string nearest_word(const analyzer::RankingRow& row);
/// "memory", "latency", …; "short", "no roof", "?" as nearest_word() has it.
[[nodiscard]] std::string bound_word(const analyzer::RankingRow& row);
[[nodiscard]] std::string bound_word(analyzer::KernelBound bound);

/// "DRAM" or "FLOP": which roof the declared work's least time is at; missing without one.
[[nodiscard]] Cell minimum_roof_cell(const analyzer::WorkSum& work);

/// Colour of a utilisation against the targets.
[[nodiscard]] Style utilisation_style(double ratio, double target, double stretch);

/// A table's name and what it lists, with its columns and no rows.
struct DeclaredTable {
  std::string name;
  std::string what;
  Table table;
};
/// The tables whose columns are an interface.
[[nodiscard]] const std::vector<DeclaredTable>& declared_tables();
/// Key, header and meaning of each column as a Markdown table, then the groups: what docs/json.md holds.
[[nodiscard]] std::string columns_markdown(const Table& table);

}  // namespace ridgeline::reports
