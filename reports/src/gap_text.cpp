#include "gap_text.h"

#include <fmt/format.h>

#include "json_values.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

constexpr double kGapThatMatters = 0.01;  // of the step

std::string length_text(std::int64_t ns) {
  return time_text(static_cast<double>(ns));
}

double share_of_step(const analyzer::Accounting& accounting, const analyzer::Gap& gap) {
  return accounting.step_ns > 0
             ? static_cast<double>(gap.end_ns - gap.start_ns) / static_cast<double>(accounting.step_ns)
             : 0;
}

}  // namespace

std::string gap_words(analyzer::GapKind kind) {
  switch (kind) {
    case analyzer::GapKind::launch_bound:
      return "launch-bound";
    case analyzer::GapKind::host_bound:
      return "CPU-bound";
    case analyzer::GapKind::synchronisation:
      return "synchronisation";
    case analyzer::GapKind::queued:
      return "queued";
    case analyzer::GapKind::unknown:
      return "unknown";
    case analyzer::GapKind::tail:
      return "tail";
  }
  return "unknown";
}

std::string thread_words(const analyzer::Model& model, store::Id process_id,
                         const std::optional<std::int64_t>& thread_id) {
  if (!thread_id) return "the CPU";
  const std::string_view name = model.thread_name(process_id, *thread_id);
  if (name.empty()) return fmt::format("thread {}", *thread_id);
  // torch.profiler's names are "thread 77 (python)".
  return name.starts_with("thread ") ? std::string(name) : fmt::format("thread {}", name);
}

std::string gap_cause(const analyzer::Model& model, const analyzer::Accounting& accounting,
                      const analyzer::Gap& gap) {
  const std::string thread = thread_words(model, accounting.process_id, gap.thread_id);
  switch (gap.kind) {
    case analyzer::GapKind::synchronisation:
      if (!gap.wait) break;
      return fmt::format("{} in {}, {}", to_string(gap.wait->call), thread, length_text(gap.wait->length_ns));
    case analyzer::GapKind::host_bound:
      // Its length is the gap's, unless a wait takes a part of that.
      return fmt::format(
          "{} in {}{}{}", accounting.gap_synchronisation_ns ? "CPU code" : "CPU code or a wait", thread,
          gap.synchronisation_ns > 0 ? ", " + length_text(gap.end_ns - gap.start_ns - gap.synchronisation_ns)
                                     : std::string(),
          gap.wait ? fmt::format(", behind {}", to_string(gap.wait->call)) : std::string());
    case analyzer::GapKind::launch_bound:
      return "launch call in " + thread;
    case analyzer::GapKind::queued:
      return "launched in time, waited for an event, a copy or a stream";
    case analyzer::GapKind::unknown:
    case analyzer::GapKind::tail:
      break;
  }
  return "";
}

std::string longest_gap_words(const analyzer::Model& model, const analyzer::Accounting& accounting) {
  const std::optional<analyzer::Gap> gap = analyzer::longest_gap(accounting);
  if (!gap) return "";
  const double share = share_of_step(accounting, *gap);
  if (share < kGapThatMatters) return "";
  const std::string cause = gap_cause(model, accounting, *gap);
  return fmt::format("{}, {} of the {}: {}", length_text(gap->end_ns - gap->start_ns), percent_text(share),
                     scope_noun(accounting.scope), cause.empty() ? "what the CPU did is not known" : cause);
}

std::string longest_gap_line(const analyzer::Model& model, const analyzer::Accounting& accounting) {
  const std::string words = longest_gap_words(model, accounting);
  return words.empty() ? "" : "Longest gap: " + words + ".";
}

JsonPart longest_gap_json(const analyzer::Model& model, const analyzer::Accounting& accounting) {
  const std::optional<analyzer::Gap> gap = analyzer::longest_gap(accounting);
  if (!gap) return Json(nullptr);
  Json out = {{"duration_ns", gap->end_ns - gap->start_ns},
              {"step_share_ratio", share_of_step(accounting, *gap)},
              {"kind", to_string(gap->kind)},
              {"cause", valid_utf8(gap_cause(model, accounting, *gap))},
              {"thread_id", optional_json(gap->thread_id)},
              {"synchronisation_ns", gap->synchronisation_ns},
              {"call", gap->wait ? Json(to_string(gap->wait->call)) : Json(nullptr)},
              {"call_ns", gap->wait ? Json(gap->wait->length_ns) : Json(nullptr)}};
  return out;
}

}  // namespace ridgeline::reports
