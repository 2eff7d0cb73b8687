// stall_tables.cpp: what the worst kernels waited for, as tables and sentences.
#include <fmt/format.h>

#include "json_parts.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kReasonsNamed = 3;

Column share_column(std::string key, std::string header, int drop_order = 0, bool shown = true) {
  return {std::move(key), std::move(header), "%", Align::right, Elide::never, 24, drop_order, shown};
}

Cell share_cell(double share) {
  return Cell::of_number(percent(share), share);
}

// "kernel.cu:42" for people; the whole path is in JSON.
std::string place_text(const analyzer::HotSpot& spot) {
  const std::string file = spot.file.substr(spot.file.rfind('/') + 1);
  if (!file.empty() && spot.line) return fmt::format("{}:{}", file, *spot.line);
  return spot.line ? fmt::format("line {}", *spot.line) : "";
}

Cell integer_or_missing(const std::optional<std::int64_t>& value) {
  return value ? Cell{fmt::format("{}", *value), *value, Style::plain} : Cell::missing();
}

void add_spots(Table& table, const analyzer::KernelStalls& kernel,
               const std::vector<analyzer::HotSpot>& spots, const char* kind) {
  for (const analyzer::HotSpot& spot : spots) {
    table.rows.push_back({
        Cell::of_integer(static_cast<std::int64_t>(kernel.rank_row) + 1),
        Cell{kernel_display_name(kernel.kernel), kernel.kernel, Style::plain},
        Cell::of_text(kind),
        spot.pc_offset ? Cell{fmt::format("+{:#x}", *spot.pc_offset), *spot.pc_offset, Style::plain}
                       : Cell::missing(),
        Cell::of_text(place_text(spot)),
        spot.file.empty() ? Cell::missing() : Cell::of_text(spot.file),
        integer_or_missing(spot.line),
        Cell::of_integer(spot.samples),
        share_cell(spot.share),
        Cell{spot.main_reason.empty()
                 ? ""
                 : fmt::format("{} {}", spot.main_reason, percent_text(spot.main_reason_share, 0)),
             spot.main_reason, Style::plain},
        share_cell(spot.main_reason_share),
    });
  }
}

}  // namespace

Table stalls_table(const analyzer::StallAnalysis& stalls) {
  Table table;
  table.columns = {
      {"rank", "rank", "", Align::right, Elide::never, 0, 0, true},
      {"kernel", "kernel", "", Align::left, Elide::kernel_name, 24, 0, true},
      {"samples", "samples", "", Align::right, Elide::never, 0, 2, true},
      share_column("issuing_ratio", "issuing"),
      share_column("ready_ratio", "ready"),
      share_column("stalled_ratio", "stalled"),
      share_column("idle_ratio", "idle", 1),
      {"reasons", "stalled on, of all samples", "", Align::left, Elide::end, 30, 0, true},
  };
  for (const analyzer::KernelStalls& kernel : stalls.kernels) {
    std::string reasons;
    for (std::size_t i = 0; i < kernel.reasons.size() && i < kReasonsNamed; ++i) {
      reasons += fmt::format("{}{} {}", i > 0 ? ", " : "", kernel.reasons[i].label,
                             percent_text(kernel.reasons[i].share, 0));
    }
    table.rows.push_back({
        Cell::of_integer(static_cast<std::int64_t>(kernel.rank_row) + 1),
        Cell{kernel_display_name(kernel.kernel), kernel.kernel, Style::plain},
        Cell::of_integer(kernel.samples),
        share_cell(kernel.issuing_share),
        share_cell(kernel.ready_share),
        share_cell(kernel.stalled_share),
        share_cell(kernel.idle_share),
        Cell::of_text(reasons),
    });
  }
  return table;
}

Table hot_spots_table(const analyzer::StallAnalysis& stalls) {
  Table table;
  table.columns = {
      {"rank", "rank", "", Align::right, Elide::never, 0, 0, true},
      {"kernel", "kernel", "", Align::left, Elide::kernel_name, 24, 0, true},
      {"kind", "kind", "", Align::left, Elide::never, 0, 9, false},
      {"pc_offset", "SASS", "", Align::right, Elide::never, 0, 0, true},
      {"place", "source", "", Align::left, Elide::start, 16, 0, true},
      {"file", "file", "", Align::left, Elide::start, 16, 9, false},
      {"line", "line", "", Align::right, Elide::never, 0, 9, false},
      {"samples", "samples", "", Align::right, Elide::never, 0, 1, true},
      share_column("share_ratio", "share"),
      {"main_reason", "mostly", "", Align::left, Elide::end, 16, 0, true},
      share_column("main_reason_ratio", "of these", 9, false),
  };
  for (const analyzer::KernelStalls& kernel : stalls.kernels) {
    // A line gathers its instructions; without lines the instructions must do.
    if (kernel.lines.empty())
      add_spots(table, kernel, kernel.instructions, "instruction");
    else
      add_spots(table, kernel, kernel.lines, "line");
  }
  return table;
}

std::string stalls_line(const analyzer::StallAnalysis& stalls) {
  if (!stalls.requested)
    return "This recording holds no stall reasons: ridgeline record --stalls samples them.";
  if (stalls.samples == 0)
    return "No stall reasons: " + (stalls.reason.empty() ? "no sample arrived" : stalls.reason) + ".";
  std::string line = fmt::format("{} of program counters over {}", counted(stalls.samples, "sample"),
                                 counted(stalls.steps, "step"));
  if (stalls.period_cycles > 0) line += fmt::format(", every {} cycles of each SM", stalls.period_cycles);
  line +=
      ". Issuing: the sampled warp issued; ready: it could have, another warp was chosen; idle: its "
      "scheduler "
      "issued nothing.";
  if (stalls.dropped_samples > 0)
    line += fmt::format(" {} were dropped by the hardware.", counted(stalls.dropped_samples, "sample"));
  if (stalls.unsampled > 0)
    line += fmt::format(" No sample fell on {} of the worst.", counted(stalls.unsampled, "kernel"));
  if (!stalls.reason.empty()) line += fmt::format(" Not all: {}.", stalls.reason);
  return line;
}

Json stalls_json(const analyzer::StallAnalysis& stalls) {
  const auto spots_json = [](const std::vector<analyzer::HotSpot>& spots) {
    Json out = Json::array();
    for (const analyzer::HotSpot& spot : spots) {
      out.push_back({{"pc_offset", optional_json(spot.pc_offset)},
                     {"file", spot.file.empty() ? Json(nullptr) : Json(valid_utf8(spot.file))},
                     {"line", optional_json(spot.line)},
                     {"samples", spot.samples},
                     {"share_ratio", spot.share},
                     {"main_reason", valid_utf8(spot.main_reason)},
                     {"main_reason_ratio", spot.main_reason_share}});
    }
    return out;
  };
  Json kernels = Json::array();
  for (const analyzer::KernelStalls& kernel : stalls.kernels) {
    Json reasons = Json::array();
    for (const analyzer::StallReason& reason : kernel.reasons) {
      reasons.push_back({{"name", valid_utf8(reason.name)},
                         {"label", valid_utf8(reason.label)},
                         {"samples", reason.samples},
                         {"share_ratio", reason.share}});
    }
    kernels.push_back({{"rank", kernel.rank_row + 1},
                       {"kernel", valid_utf8(kernel.kernel)},
                       {"samples", kernel.samples},
                       {"issuing_ratio", kernel.issuing_share},
                       {"ready_ratio", kernel.ready_share},
                       {"stalled_ratio", kernel.stalled_share},
                       {"idle_ratio", kernel.idle_share},
                       {"reasons", std::move(reasons)},
                       {"instructions", spots_json(kernel.instructions)},
                       {"lines", spots_json(kernel.lines)}});
  }
  return {{"requested", stalls.requested},
          {"samples", stalls.samples},
          {"dropped_samples", stalls.dropped_samples},
          {"steps", stalls.steps},
          {"period_cycles", stalls.period_cycles},
          {"reason", valid_utf8(stalls.reason)},
          {"unsampled_kernels", stalls.unsampled},
          {"kernels", std::move(kernels)}};
}

}  // namespace ridgeline::reports
