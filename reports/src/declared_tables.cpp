// declared_tables.cpp: what columns each table has, without a capture.
#include <fmt/format.h>

#include "ranking_columns.h"
#include "ridgeline/reports/ceilings_document.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/explain_document.h"
#include "ridgeline/reports/history_documents.h"
#include "ridgeline/reports/interventions_document.h"
#include "ridgeline/reports/job_what_if_document.h"
#include "ridgeline/reports/ladder_documents.h"
#include "ridgeline/reports/ranks_document.h"
#include "ridgeline/reports/replayed_document.h"
#include "ridgeline/reports/roofline_document.h"
#include "ridgeline/reports/tables.h"
#include "ridgeline/reports/what_if_document.h"

namespace ridgeline::reports {

const std::vector<DeclaredTable>& declared_tables() {
  static const std::vector<DeclaredTable> kTables = [] {
    // Tables of nothing: their heads are what is asked for.
    static const analyzer::Model kModel;
    static const analyzer::Analysis kAnalysis;
    static const std::vector<analyzer::PhaseSummary> kPhases;
    static const std::vector<comparison::KernelChange> kChanges;
    static const std::vector<comparison::StepMetric> kEndpoints;
    static const std::vector<comparison::TransferChange> kTransfers;
    static const std::vector<comparison::HistorySeries> kSeries;
    static const store::MachineCeilings kCeilings;
    static const comparison::LadderRecord kLadder;
    static const comparison::LadderResult kLadderResult;
    static const analyzer::WhatIf kWhatIf;
    static const analyzer::KernelExplanation kExplanation;
    static const analyzer::InterventionAnalysis kInterventions;
    static const analyzer::ReplayedInSitu kReplayed;
    static const analyzer::JobAnalysis kJob;
    static const analyzer::JobWhatIf kJobWhatIf;
    using Key = analyzer::RankingKey;
    const analyzer::RankingKeys every_key({Key::layer, Key::phase, Key::nvtx_path, Key::kernel_class,
                                           Key::family, Key::kernel, Key::kernel_and_grid, Key::launch});
    Table rank(ranking_columns({.options = {.key = every_key}}), 0,
               [](std::size_t) { return RankingLine{}; });
    rank.set_groups(ranking_groups());
    return std::vector<DeclaredTable>{
        {"rank",
         "rows of `rank`, worst first; `ordinal` with `--by launch` only, `by_...` with several keys only",
         std::move(rank)},
        {"advise", "rows of `advise`, most gain first", advice_table(kAnalysis.advice, true)},
        {"explain", "rows of `explain`: the figures of a kernel", evidence_table(kAnalysis, kExplanation)},
        {"limits", "the roofs of a kernel, of `explain`, nearest first", limits_table(kExplanation)},
        {"configurations", "how a kernel is launched, of `explain`, most time first",
         configurations_table(kExplanation)},
        {"check", "rows of `check`, missed ones first",
         check_table(kAnalysis.check, kAnalysis.ranking, true)},
        {"steps", "rows of `steps`", steps_table(kAnalysis.steps)},
        {"phases", "the steps by phase", phases_table(kPhases)},
        {"accounting", "where the step's time went", accounting_table(kAnalysis.accounting)},
        {"bounds", "kernel time by what bounds it",
         bounds_table(kAnalysis.accounting, kAnalysis.accounting.kernels.by_phase)},
        {"gaps", "gaps of the step, longest first", gaps_table(kModel, kAnalysis.accounting)},
        {"what-if", "rows of `what-if`, one for each change and one for all together",
         what_if_table(kWhatIf)},
        {"replayed", "rows of `import --onto`, most time in the run first", replayed_table(kReplayed)},
        {"interventions", "rows of `interventions`, one for each launch that was delayed",
         interventions_table(kModel, kInterventions)},
        {"delays", "delays of these launches by level, in `interventions`",
         delay_levels_table(kModel, kInterventions)},
        {"ranks", "rows of `ranks`, one for each rank", rank_costs_table(kJob)},
        {"job-steps", "rows of `ranks --by step`", job_steps_table(kJob)},
        {"collectives", "rows of `ranks --by collective`, one for each place in the step's sequence",
         collectives_table(kJob)},
        {"kernels-over-ranks", "rows of `ranks --by kernel`, most time first",
         kernels_over_ranks_table(kJob)},
        {"kernels-beside", "kernels beside collectives, in `ranks --by account`, most time there first",
         interference_table(kJob)},
        {"job-account", "rows of `ranks --by account`", job_account_table(kJob)},
        {"job-what-if", "rows of `ranks --what-if`, one for each change", job_what_if_table(kJobWhatIf)},
        {"launches", "launches of the step, in `report --format json`", launches_table(kModel, kAnalysis)},
        {"compare", "rows of `compare`, largest difference of the step first", compare_table(kChanges)},
        {"parts", "the step and its parts, of `compare`", step_metrics_table(kEndpoints)},
        {"transfers", "copies and memsets, of `compare`, largest difference first",
         transfers_table(kTransfers)},
        {"history", "rows of `history show`, largest change first", history_table(kSeries)},
        {"ceilings", "rows of `ceilings`, one for each roof and state", ceilings_table(kCeilings)},
        {"roofline", "rows of `roofline`, most headroom first", roofline_table(kAnalysis.roofline)},
        {"ladder", "rows of `ladder`, the bottom and one for each rung",
         ladder_table(kLadder, kLadderResult)},
        {"work", "declared work, in `report --format json`", declared_work_table(kAnalysis.declared_work)},
    };
  }();
  return kTables;
}

std::string columns_markdown(const Table& table) {
  std::string out = "| key | shown as | meaning |\n| --- | --- | --- |\n";
  for (const ColumnHead& c : table.columns()) {
    // The help is ours, and its code is meant as such.
    out += fmt::format("| `{}` | {} | {} |\n", c.key, markdown_cell(whole_name(c)), c.help);
  }
  for (const ColumnGroup& group : table.groups()) {
    std::string keys;
    for (const std::string& key : group.keys) keys += fmt::format("{}`{}`", keys.empty() ? "" : ", ", key);
    out += fmt::format("\nGroup `{}`: {}.\n", group.name, keys);
  }
  return out;
}

}  // namespace ridgeline::reports
