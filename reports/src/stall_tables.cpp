// stall_tables.cpp: what the worst kernels waited for, as tables and sentences.
#include <fmt/format.h>

#include <memory>

#include "json_parts.h"
#include "json_values.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

constexpr std::size_t kReasonsNamed = 3;

// "kernel.cu:42" for people; the whole path is in JSON.
std::string place_text(const analyzer::HotSpot& spot) {
  const std::string file = spot.file.substr(spot.file.rfind('/') + 1);
  if (!file.empty() && spot.line) return fmt::format("{}:{}", file, *spot.line);
  return spot.line ? fmt::format("line {}", *spot.line) : "";
}

std::string reasons_text(const analyzer::KernelStalls& kernel) {
  std::string text;
  for (std::size_t i = 0; i < kernel.reasons.size() && i < kReasonsNamed; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", kernel.reasons[i].label,
                        percent_text(kernel.reasons[i].share, 0));
  }
  return text;
}

std::vector<Column<analyzer::KernelStalls>> stall_columns() {
  using Kernel = analyzer::KernelStalls;
  return {
      {{.key = "rank", .header = "rank", .help = "its row in the ranking"},
       [](const Kernel& k) { return Cell::number(static_cast<std::int64_t>(k.ranking_row) + 1); }},
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name},
       [](const Kernel& k) { return Cell::worded(kernel_display_name(k.kernel), k.kernel); }},
      {{.key = "samples", .header = "samples", .help = "samples of program counters", .drop_order = 2},
       [](const Kernel& k) { return Cell::number(k.samples); }},
      {{.key = "issuing_ratio", .header = "issuing", .unit = "%", .help = "the sampled warp issued"},
       [](const Kernel& k) { return Cell::number(k.issuing_share, Form::percent); }},
      {{.key = "ready_ratio",
        .header = "ready",
        .unit = "%",
        .help = "it could have issued, another warp was chosen"},
       [](const Kernel& k) { return Cell::number(k.ready_share, Form::percent); }},
      {{.key = "stalled_ratio", .header = "stalled", .unit = "%", .help = "it could not issue"},
       [](const Kernel& k) { return Cell::number(k.stalled_share, Form::percent); }},
      {{.key = "idle_ratio",
        .header = "idle",
        .unit = "%",
        .help = "its scheduler issued nothing",
        .drop_order = 1},
       [](const Kernel& k) { return Cell::number(k.idle_share, Form::percent); }},
      {{.key = "reasons",
        .header = "stalled on, of all samples",
        .help = "the main stall reasons",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 30},
       [](const Kernel& k) { return Cell::text(reasons_text(k)); }},
  };
}

struct SpotLine {
  const analyzer::KernelStalls* kernel;
  const analyzer::HotSpot* spot;
  bool is_line;
};

std::vector<Column<SpotLine>> spot_columns() {
  return {
      {{.key = "rank", .header = "rank", .help = "the kernel's row in the ranking"},
       [](const SpotLine& l) { return Cell::number(static_cast<std::int64_t>(l.kernel->ranking_row) + 1); }},
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name},
       [](const SpotLine& l) {
         return Cell::worded(kernel_display_name(l.kernel->kernel), l.kernel->kernel);
       }},
      {{.key = "kind",
        .header = "kind",
        .help = "`line` or `instruction`",
        .align = Align::left,
        .drop_order = 9,
        .shown = false},
       [](const SpotLine& l) { return Cell::text(l.is_line ? "line" : "instruction"); }},
      {{.key = "pc_offset", .header = "SASS", .help = "offset of the instruction in the kernel"},
       [](const SpotLine& l) {
         return l.spot->pc_offset
                    ? Cell::worded(fmt::format("+{:#x}", *l.spot->pc_offset), *l.spot->pc_offset)
                    : Cell::missing();
       }},
      {{.key = "place",
        .header = "source",
        .help = "file and line",
        .align = Align::left,
        .elide = Elide::start,
        .min_width = 16},
       [](const SpotLine& l) { return Cell::text(place_text(*l.spot)); }},
      {{.key = "file",
        .header = "file",
        .help = "path of the source file",
        .align = Align::left,
        .elide = Elide::start,
        .min_width = 16,
        .drop_order = 9,
        .shown = false},
       [](const SpotLine& l) { return l.spot->file.empty() ? Cell::missing() : Cell::text(l.spot->file); }},
      {{.key = "line", .header = "line", .help = "line in it", .drop_order = 9, .shown = false},
       [](const SpotLine& l) {
         return l.spot->line ? Cell::number(*l.spot->line, Form::plain) : Cell::missing();
       }},
      {{.key = "samples", .header = "samples", .help = "samples that fell here", .drop_order = 1},
       [](const SpotLine& l) { return Cell::number(l.spot->samples); }},
      {{.key = "share_ratio", .header = "share", .unit = "%", .help = "of the kernel's samples"},
       [](const SpotLine& l) { return Cell::number(l.spot->share, Form::percent); }},
      {{.key = "main_reason",
        .header = "mostly",
        .help = "the main stall reason here",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 16},
       [](const SpotLine& l) {
         const analyzer::HotSpot& spot = *l.spot;
         return Cell::worded(spot.main_reason.empty() ? ""
                                                      : fmt::format("{} {}", spot.main_reason,
                                                                    percent_text(spot.main_reason_share, 0)),
                             spot.main_reason);
       }},
      {{.key = "main_reason_ratio",
        .header = "of these",
        .unit = "%",
        .help = "its share of them",
        .drop_order = 9,
        .shown = false},
       [](const SpotLine& l) { return Cell::number(l.spot->main_reason_share, Form::percent); }},
  };
}

// Why there are no samples, or not all; "" if all is well.
std::string loss_text(const analyzer::StallAnalysis& stalls) {
  return stalls.buffer_full ? "the sampling buffer was full: samples are missing"
                            : reason_text(stalls.reason);
}

}  // namespace

Table stalls_table(const analyzer::StallAnalysis& stalls) {
  return {stall_columns(), stalls.kernels.size(),
          [&stalls](std::size_t i) -> const analyzer::KernelStalls& { return stalls.kernels[i]; }};
}

Table hot_spots_table(const analyzer::StallAnalysis& stalls) {
  auto lines = std::make_shared<std::vector<SpotLine>>();
  for (const analyzer::KernelStalls& kernel : stalls.kernels) {
    // A line gathers its instructions; without lines the instructions must do.
    const bool by_line = !kernel.lines.empty();
    for (const analyzer::HotSpot& spot : by_line ? kernel.lines : kernel.instructions)
      lines->push_back({&kernel, &spot, by_line});
  }
  return {spot_columns(), lines->size(), [lines](std::size_t i) -> const SpotLine& { return (*lines)[i]; }};
}

std::string stalls_line(const analyzer::StallAnalysis& stalls) {
  const std::string why = loss_text(stalls);
  if (!stalls.requested)
    return "This recording holds no stall reasons: ridgeline record --stalls samples them.";
  if (stalls.samples == 0) return "No stall reasons: " + (why.empty() ? "no sample arrived" : why) + ".";
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
  if (!why.empty()) line += fmt::format(" Not all: {}.", why);
  return line;
}

JsonPart stalls_json(const analyzer::StallAnalysis& stalls) {
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
    kernels.push_back({{"rank", kernel.ranking_row + 1},
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
  return Json({{"requested", stalls.requested},
               {"samples", stalls.samples},
               {"dropped_samples", stalls.dropped_samples},
               {"steps", stalls.steps},
               {"period_cycles", stalls.period_cycles},
               {"reason", valid_utf8(loss_text(stalls))},
               {"unsampled_kernels", stalls.unsampled},
               {"kernels", std::move(kernels)}});
}

}  // namespace ridgeline::reports
