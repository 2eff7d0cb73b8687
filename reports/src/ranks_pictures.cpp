#include "ridgeline/reports/ranks_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {
namespace {

using analyzer::CallSegment;
using analyzer::JobAnalysis;
using analyzer::JobStepRows;
using analyzer::JoinedCollective;
using analyzer::RankCall;
using analyzer::RankRow;

constexpr double kPictureWidth = 1000;
constexpr double kPictureLeft = 70;
constexpr double kPictureTop = 6;
constexpr double kRowsHeight = 600;
constexpr double kMinRowHeight = 8;
constexpr double kMaxRowHeight = 26;
constexpr double kLowShare = 0.35;  // of a row's height: what kernels run beside
constexpr double kMinShown = 0.3;   // narrower segments are left out of the picture
constexpr std::size_t kMaxSkewColumns = 100;
constexpr double kSkewHeight = 140;

std::string segment_class(const CallSegment& segment) {
  return segment.waits ? "wait" : "transfer";
}

std::string call_title(const RankRow& row, const RankCall& call, const JoinedCollective& joined) {
  double wait = 0;
  for (const CallSegment& segment : call.segments)
    wait += segment.waits ? segment.end_ns - segment.start_ns : 0;
  std::string text = fmt::format("rank {}, {}: {}", row.rank, collective_text(joined),
                                 time_text(call.end_ns - call.start_ns));
  if (joined.arrival_ns) text.append(fmt::format(", {} of it waiting for the last rank", time_text(wait)));
  return text;
}

class RowsPicture {
 public:
  explicit RowsPicture(const JobStepRows& step)
      : step_(step),
        height_(std::clamp(kRowsHeight / static_cast<double>(std::max<std::size_t>(step.rows.size(), 1)),
                           kMinRowHeight, kMaxRowHeight)),
        bottom_(kPictureTop + height_ * static_cast<double>(step.rows.size())),
        svg_(kPictureWidth, bottom_ + 40, fmt::format("Ranks in step {}", step.step_index)) {}

  [[nodiscard]] std::string draw() {
    for (std::size_t i = 0; i < step_.rows.size(); ++i) draw_row(i);
    for (std::size_t i = 0; i < step_.collectives.size(); ++i) draw_joins(i);
    draw_axis();
    return svg_.finish();
  }

 private:
  [[nodiscard]] double x(double time_ns) const {
    return kPictureLeft + (kPictureWidth - kPictureLeft - 6) * time_ns / std::max(step_.duration_ns, 1.0);
  }
  [[nodiscard]] double y(std::size_t row) const { return kPictureTop + height_ * static_cast<double>(row); }

  void draw_row(std::size_t i) {
    const RankRow& row = step_.rows[i];
    const double bar = height_ - 2;
    svg_.text(kPictureLeft - 8, y(i) + height_ / 2 + 4, fmt::format("rank {}", row.rank), "tick",
              Svg::Anchor::end);
    svg_.rect(x(row.start_ns), y(i), x(row.end_ns) - x(row.start_ns), bar, "own",
              fmt::format("rank {}: {}, {}{} than the others", row.rank, time_text(row.end_ns - row.start_ns),
                          time_text(std::abs(row.lateness_ns)), row.lateness_ns < 0 ? " earlier" : " later"));
    for (const RankCall& call : row.calls) {
      const std::string title = call_title(row, call, step_.collectives[call.collective]);
      for (const CallSegment& segment : call.segments) {
        const double width = x(segment.end_ns) - x(segment.start_ns);
        if (width < kMinShown) continue;
        const double tall = segment.beside ? bar * kLowShare : bar;
        svg_.rect(x(segment.start_ns), y(i) + bar - tall, width, tall, segment_class(segment), title);
      }
    }
  }

  // From row to row, where both have a call.
  void draw_joins(std::size_t collective) {
    std::optional<std::pair<double, double>> before;
    for (std::size_t i = 0; i < step_.rows.size(); ++i) {
      for (const RankCall& call : step_.rows[i].calls) {
        if (call.collective != collective) continue;
        const std::pair<double, double> here = {x(call.start_ns), y(i) + height_ / 2};
        if (before) svg_.line(before->first, before->second, here.first, here.second, "join");
        before = here;
      }
    }
  }

  void draw_axis() {
    const double tick = nice_tick(std::max(step_.duration_ns, 1.0), 8);
    for (double at = 0; at <= step_.duration_ns; at += tick)
      svg_.text(x(at), bottom_ + 16, time_text(at), "tick", Svg::Anchor::middle);
    svg_.text(kPictureLeft, bottom_ + 34, fmt::format("time in step {}", step_.step_index), "axis");
  }

  const JobStepRows& step_;
  double height_;
  double bottom_;
  Svg svg_;
};

// Of the steps that share a column, the one with the largest lateness.
const analyzer::JobStepCost& latest_of(const JobAnalysis& of, std::size_t column, std::size_t columns) {
  const std::size_t n = of.step_costs.size();
  const auto first = of.step_costs.begin() + static_cast<std::ptrdiff_t>(column * n / columns);
  const auto last = of.step_costs.begin() + static_cast<std::ptrdiff_t>((column + 1) * n / columns);
  return *std::max_element(first, last,
                           [](const auto& a, const auto& b) { return a.lateness_ns < b.lateness_ns; });
}

}  // namespace

std::string collective_text(const JoinedCollective& collective) {
  std::string text =
      collective.function ? std::string(to_string(*collective.function)) : std::string("collective");
  if (collective.bytes) text.append(", ").append(bytes_text(static_cast<double>(*collective.bytes)));
  if (collective.last_rank >= 0) text.append(fmt::format(", last in: rank {}", collective.last_rank));
  return text;
}

std::string step_rows_sentence(const JobStepRows& step) {
  std::string text = fmt::format("Step {}", step.step_index);
  const auto shown = static_cast<std::int64_t>(step.rows.size());
  if (shown < step.ranks)
    text.append(fmt::format(", {} of {} ranks: those that are latest in it, and as many of the others", shown,
                            step.ranks));
  if (!step.error_ns)
    return text.append("; clocks are not aligned, so that each rank's row begins with its own step.");
  if (*step.error_ns == 0) return text.append("; all ranks are on one clock.");
  return text.append(
      fmt::format("; rows of different hosts may be {} off against each other.", time_text(*step.error_ns)));
}

std::string step_rows_picture(const JobStepRows& step) {
  return RowsPicture(step).draw();
}

std::string skew_picture(const JobAnalysis& of) {
  const std::size_t columns = std::min(of.step_costs.size(), kMaxSkewColumns);
  constexpr double kBottom = kPictureTop + kSkewHeight;
  Svg svg(kPictureWidth, kBottom + 40, "Skew in each step");
  double most = of.late_threshold_ns;
  for (const auto& step : of.step_costs) most = std::max({most, step.lateness_ns, step.exposed_wait_ns});
  most = std::max(most, 1.0);
  const auto y = [&](double value) { return kBottom - kSkewHeight * std::clamp(value / most, 0.0, 1.0); };
  const double tick = nice_tick(most, 4);
  for (double at = 0; at <= most; at += tick) {
    svg.line(kPictureLeft, y(at), kPictureWidth - 6, y(at), "grid");
    svg.text(kPictureLeft - 8, y(at) + 4, time_text(at), "tick", Svg::Anchor::end);
  }
  const double width =
      (kPictureWidth - kPictureLeft - 6) / static_cast<double>(std::max<std::size_t>(columns, 1));
  const std::size_t tick_every = std::max<std::size_t>(1, columns / 10);
  std::optional<std::pair<double, double>> before;
  for (std::size_t column = 0; column < columns; ++column) {
    const auto& step = latest_of(of, column, columns);
    const double left = kPictureLeft + width * static_cast<double>(column);
    svg.rect(left, y(step.lateness_ns), width - 1, kBottom - y(step.lateness_ns), step.late ? "late" : "skew",
             fmt::format("step {}: rank {} is {} later than the others; a rank waits {} for others",
                         step.step_index, step.slowest_rank, time_text(step.lateness_ns),
                         time_text(step.exposed_wait_ns)));
    const std::pair<double, double> here = {left + width / 2, y(step.exposed_wait_ns)};
    if (before) svg.line(before->first, before->second, here.first, here.second, "waits");
    before = here;
    if (column % tick_every == 0)
      svg.text(here.first, kBottom + 16, fmt::format("{}", step.step_index), "tick", Svg::Anchor::middle);
  }
  svg.text(kPictureLeft, kBottom + 34, "step", "axis");
  return svg.finish();
}

}  // namespace ridgeline::reports
