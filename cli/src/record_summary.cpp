#include "record_summary.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "output.h"
#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/reason_text.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

std::string steps_by_phase(const analyzer::Model& model) {
  std::map<Phase, std::pair<std::int64_t, std::int64_t>> phases;
  std::int64_t superseded = 0;
  for (const analyzer::ModelStep& step : model.steps) {
    if (analyzer::is_superseded(step.step)) {
      ++superseded;
      continue;
    }
    auto& [count, bad] = phases[step.step.phase];
    ++count;
    if (step.step.status != StepStatus::ok) ++bad;
  }
  std::string text;
  for (const auto& [phase, word] : Vocabulary<Phase>::kWords) {  // in the order of a recording
    const auto found = phases.find(phase);
    if (found == phases.end()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", integer(found->second.first), word);
    if (found->second.second > 0) text += fmt::format(" ({} not ok)", found->second.second);
  }
  if (superseded > 0 && !text.empty())
    text += fmt::format("; before those were found, {} of another period", integer(superseded));
  const std::string range = model.run && model.run->step_range ? *model.run->step_range : "step";
  return text.empty() ? fmt::format("none: no NVTX range '{}' was seen, the whole recording is ranked", range)
                      : text;
}

std::string launches_text(const analyzer::Model& model, std::int64_t launches) {
  if (model.completeness.empty())
    return counted(launches, "record") + "; how many launches there were is not known";
  store::Completeness sum;
  for (const store::Completeness& c : model.completeness) {
    sum.launches_seen += c.launches_seen;
    sum.kernel_records += c.kernel_records;
    sum.graph_kernel_records += c.graph_kernel_records;
    sum.dropped_records += c.dropped_records + c.lost_spool_records;
    sum.zero_timestamps += c.zero_timestamps;
  }
  std::string text =
      fmt::format("{} seen {} {} recorded", integer(sum.launches_seen),
                  sum.launches_seen == sum.kernel_records ? "=" : "≠", integer(sum.kernel_records));
  if (sum.graph_kernel_records > 0)
    text += fmt::format(", and {} in CUDA graphs", integer(sum.graph_kernel_records));
  if (sum.dropped_records > 0) text += fmt::format(", {} dropped", integer(sum.dropped_records));
  if (sum.zero_timestamps > 0) text += fmt::format(", {} without a timestamp", integer(sum.zero_timestamps));
  return text;
}

std::string tiers_text(const analyzer::Model& model) {
  std::string text;
  for (const store::TierStatus& tier : model.tier_statuses) {
    if (tier.status == TierOutcome::not_requested) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", to_string(tier.tier), to_string(tier.status));
    if (model.processes.size() > 1) text += fmt::format(" in process {}", tier.process_id);
    if (tier.status != TierOutcome::ok && tier.reason && !tier.reason->empty())
      text += " (" + reports::reason_text(*tier.reason) + ")";
  }
  return text.empty() ? "unknown" : text;
}

}  // namespace

std::string capture_summary(const std::string& capture_path, const reports::TextStyle& style) {
  try {
    const store::Capture capture = store::Capture::open(capture_path).value();
    const analyzer::Model model = analyzer::load_recording(capture);
    std::string out;
    const auto line = [&](const char* label, const std::string& text) {
      std::string value;
      for (const char c : reports::wrapped(reports::terminal_safe(text), style.columns - 12)) {
        value += c;
        if (c == '\n') value += std::string(12, ' ');
      }
      out += "  " + reports::styled(fmt::format("{:<8}", label), reports::Style::dim, style.colour) + "  " +
             value + "\n";
    };
    std::error_code error;
    const auto size = std::filesystem::file_size(capture_path, error);
    line("capture", capture_path + (error ? "" : " (" + bytes_text(static_cast<double>(size)) + ")"));
    line("steps", steps_by_phase(model));
    line("launches", launches_text(model, capture.row_counts().at("launch")));
    line("tiers", tiers_text(model));
    line("next", "ridgeline rank " + shell_quoted({capture_path}));
    return out;
  } catch (const Error& error) {
    return fmt::format("  the capture cannot be read back: {}\n", reports::terminal_safe(error.message()));
  }
}

std::string recording_progress(const launch::RecordProgress& progress) {
  const double elapsed_ns = static_cast<double>(progress.elapsed.count()) * 1e6;
  switch (progress.stage) {
    case launch::RecordStage::importing: {
      const double total = static_cast<double>(progress.capture.total_bytes);
      const double share = total > 0 ? static_cast<double>(progress.capture.done_bytes) / total : 0;
      return fmt::format("ridgeline: making the capture, {}", percent_text(share, 0));
    }
    case launch::RecordStage::starting:
    case launch::RecordStage::running:
    case launch::RecordStage::done:
      break;
  }
  return fmt::format("ridgeline: recording, {}, {}", time_text(elapsed_ns),
                     bytes_text(static_cast<double>(progress.spool_bytes)));
}

void tell_recorded(const launch::RecordSummary& summary, bool quiet) {
  for (const std::string& warning : summary.warnings) write_message("record", "warning: " + warning);
  if (summary.exit_signal.has_value() || summary.exit_status.value_or(0) != 0) {
    write_message("record",
                  fmt::format("the program {} {}: the capture holds what it did until then{}",
                              summary.exit_signal ? "was" : "ended with",
                              describe_exit(summary.exit_status, summary.exit_signal),
                              summary.missing.empty() ? "" : fmt::format(" ({})", summary.missing)));
  }
  if (quiet) return;
  const reports::TextStyle style = standard_output_style();
  std::string text = fmt::format("\nRecorded {} of the program.\n",
                                 time_text(static_cast<double>(summary.duration.count()) * 1e6));
  text += capture_summary(summary.capture_path, style);
  if (summary.spool_directory) text += "  spool     " + *summary.spool_directory + "\n";
  write_standard_output(text);
}

}  // namespace ridgeline::cli
