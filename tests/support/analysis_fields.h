// analysis_fields.h: what fields.h needs to know of the analyzer's types, and an analysis held whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "accounting/step_power.h"
#include "ridgeline/analyzer/roofline/roofline.h"
#include "ridgeline/analyzer/session/explanation.h"
#include "ridgeline/analyzer/trace/timeline.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/work/declared_work.h"
#include "support/accepted_cases.h"
#include "support/analysed_model.h"

namespace ridgeline::testing {

template <>
struct ShownParts<analyzer::MetricValues> {
  static auto of(const analyzer::MetricValues& values) {
    std::vector<std::pair<std::string_view, analyzer::Measured>> known;
    for (const analyzer::Metric metric : analyzer::kAllMetrics) {
      if (const auto value = values.of(metric)) known.emplace_back(metric.entry().key, *value);
    }
    return std::tuple(known);
  }
};

template <>
struct ShownParts<analyzer::RoofRatios> {
  static auto of(const analyzer::RoofRatios& ratios) {
    std::vector<std::optional<double>> each;
    for (const analyzer::Roof roof : analyzer::kRoofs) each.push_back(ratios.of(roof));
    return std::tuple(each);
  }
};

template <>
struct ShownParts<analyzer::LaunchUtilisation> {
  static auto of(const analyzer::LaunchUtilisation& launch) {
    return std::tuple(analyzer::LaunchVerdict(launch), launch.launch, launch.ordinal, launch.duration_ns,
                      launch.duration_deviation_ns);
  }
};

template <>
struct ShownParts<analyzer::DeclaredWork> {
  static auto of(const analyzer::DeclaredWork& work) {
    return std::tuple(analyzer::WorkSum(work), work.path, work.operation, work.name);
  }
};

template <>
struct ShownParts<analyzer::ToldShare> {
  static auto of(const analyzer::ToldShare& share) {
    return std::tuple(analyzer::ClockShare(share), share.told);
  }
};

/// Events one by one, with where they lead; counters as so many bins.
template <>
struct ShownParts<analyzer::TimelineRow> {
  static auto of(const analyzer::TimelineRow& row) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::optional<analyzer::RowEvent>>>
        events;
    for (std::size_t i = 0; i < row.events.size(); ++i)
      events.emplace_back(row.events.start_ns(i), row.events.end_ns(i), row.events.name(i), row.links.of(i));
    std::vector<analyzer::CounterBin> bins(row.counter.empty() ? 0 : 20);
    if (!bins.empty()) row.counter.bins(row.counter.extent(), bins);
    return std::tuple(row.kind, row.id, row.label, row.process_id, row.device_id, row.thread_id, row.thread,
                      row.stream_id, row.depth, row.secondary, events, row.counter.size(), bins, row.unit,
                      row.metric, row.meaning, row.max);
  }
};

/// All that is concluded of a model: the answers of a report, its ranking by each key, and what is said of each kernel.
inline std::string analysis_text(const analyzer::Model& model) {
  using analyzer::RankingKey;
  try {
    const analyzer::AnalysisOptions options;
    const std::shared_ptr<const analyzer::Model> borrowed(std::shared_ptr<const analyzer::Model>(), &model);
    analyzer::ScopeAnalysis scope(borrowed, options, {}, {});
    const analyzer::Analysis analysis = scope.together(analyzer::Session::kEverything, {});
    std::string text = fields(analysis) + "\n";
    for (const RankingKey key :
         {RankingKey::kernel_and_grid, RankingKey::family, RankingKey::kernel_class, RankingKey::nvtx_path,
          RankingKey::phase, RankingKey::layer, RankingKey::launch}) {
      text += "by " + std::string(to_string(key)) + ": " +
              text_sum_in_hex(text_sum(fields(*scope.ranking(key, {})) + fields(*scope.roofline(key, {})))) +
              "\n";
    }
    for (std::size_t row = 0; row < analysis.ranking.rows.size() && row < kShownElements; ++row)
      text += "row " + std::to_string(row) + ": " + fields(explain_kernel(model, analysis, row)) + "\n";
    return text;
  } catch (const analyzer::QueryFailed& refused) {
    return "refused: " + fields(refused.failure);
  }
}

}  // namespace ridgeline::testing
