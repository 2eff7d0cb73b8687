#include "spool/process_import.h"

#include <algorithm>

#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "spool/activity_import.h"
#include "spool/counter_import.h"
#include "spool/kernel_ids.h"
#include "spool/process_rows.h"
#include "spool/range_import.h"
#include "spool/spool_words.h"
#include "spool/stall_import.h"
#include "spool/step_import.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

constexpr std::size_t kMostPaths = 1u << 16;  // that the agent keeps

Reason of_tier(Tier tier, TierOutcome outcome, Reason reason) {
  return Reason(ReasonCode::tier, {{"tier", to_string(tier)}, {"outcome", to_string(outcome)}},
                {std::move(reason)});
}

// What is said of the process as a whole; the parts write its rows.
class Process {
 public:
  Process(ProcessImport& import, ImportSummary& summary)
      : in_(import),
        rows_(import, summary),
        writer_(import.writer),
        reader_(import.reader),
        spool_(import.spool),
        kernels_(rows_),
        steps_(rows_),
        ranges_(import.writer, import.reader, import.spool, [this] { rows_.row_written(); }),
        samples_(import.reader, import.spool),
        summary_(summary) {}

  void write() {
    plan_ = recording_plan(reader_, spool_, in_.manifest);
    write_process();
    write_versions();
    for (const auto& [ordinal, device] : spool_.devices)
      rows_.add_device(ordinal, in_.devices.add(reader_, device));
    steps_.write_steps(plan_);
    steps_.write_windows();
    if (spool_.steps_found) rows_.say(Severity::info, *spool_.steps_found);
    write_messages();
    ActivityImport(rows_, kernels_, steps_, ranges_, samples_).write(in_.progress_rows);
    CounterImport(rows_, kernels_).write(in_.progress_counters);
    write_samples();
    write_stall_reasons();
    write_verdicts();
    writer_.checkpoint();
    ++summary_.processes;
  }

 private:
  void write_process() {
    store::Process row;
    row.pid = reader_.file_header().pid;
    if (const auto& process = spool_.process) {
      row.pid = process->pid;
      row.parent_pid = process->parent_pid;
      std::string arguments(reader_.string_or(process->arguments, ""));
      const std::vector<std::string> redact =
          in_.manifest ? in_.manifest->redact : std::vector<std::string>{};
      std::vector<std::string> words;
      for (std::size_t at = 0; at < arguments.size();) {
        const std::size_t end = std::min(arguments.find('\0', at), arguments.size());
        words.push_back(arguments.substr(at, end - at));
        at = end + 1;
      }
      row.command = words.empty() ? one_line(reader_.string_or(process->executable, ""))
                                  : shell_quoted(command_without_secrets(words, redact));
      row.start_ns = process->process_start_ns > 0 ? process->process_start_ns : process->start_ns;
    } else {
      row.start_ns = reader_.file_header().start_ns;
    }
    if (in_.manifest) {
      if (auto rank = in_.manifest->ranks.find(row.pid); rank != in_.manifest->ranks.end())
        row.rank = rank->second;
    }
    if (spool_.end) row.end_ns = spool_.end->time_ns;
    rows_.process_id = writer_.add(row);
    ranges_.set_process(rows_.process_id);
    rows_.pid = row.pid;
  }

  void write_versions() {
    for (const VersionRecord& version : spool_.versions) {
      const char* component = component_name(version.component);
      if (component == nullptr) continue;
      const std::string text = version_text(reader_, version);
      if (!text.empty()) writer_.add_version(component, text);
    }
  }

  void write_messages() {
    for (const AgentMessage& message : spool_.messages) {
      const Severity severity = is_known(message.severity) ? message.severity : Severity::info;
      writer_.add(
          store::Message{.process_id = rows_.process_id,
                         .time_ns = message.time_ns == 0 ? std::nullopt : std::optional(message.time_ns),
                         .severity = severity,
                         .what = message.what});
      const auto& warnings = summary_.warnings;
      // "Timeline only" says it of the samples, too.
      const AgentMessage* counters = spool_.message_about(spool::Topic::counters_refused);
      if (message.topic == spool::Topic::sampling_refused && counters != nullptr &&
          same_refusal(message.what, counters->what))
        continue;
      if (message.severity != Severity::info &&
          std::find(warnings.begin(), warnings.end(), message.what) == warnings.end()) {
        summary_.warnings.push_back(message.what);
      }
    }
  }

  void write_samples() {
    const PmImport::Target target{
        .writer = writer_,
        .process_id = rows_.process_id,
        .device_id = [this](std::uint32_t ordinal) { return rows_.device_id(ordinal); },
        .warn = [this](Reason what) { rows_.say(Severity::warning, std::move(what)); },
        .row_written = [this] { rows_.row_written(); }};
    for (const PmPeer& peer : in_.peers) {
      if (peer.reader != &reader_) samples_.add_peer(peer);
    }
    samples_.write(target, rows_.outcomes.sampling, in_.progress_samples);
  }

  void write_stall_reasons() {
    if (!spool_.has_stalls) return;
    write_stalls(reader_,
                 {.writer = writer_,
                  .process_id = rows_.process_id,
                  .device_id = [this](std::uint32_t ordinal) { return rows_.device_id(ordinal); },
                  .kernel_id = [this](std::uint32_t id) { return kernels_.sampled(id); },
                  .warn = [this](Reason what) { rows_.say(Severity::warning, std::move(what)); }},
                 {});
  }

  void write_verdicts() {
    store::Completeness completeness = completeness_of(reader_, spool_);
    completeness.process_id = rows_.process_id;
    writer_.add(completeness);
    summary_.launches_seen += completeness.launches_seen;
    Reason timeline_gaps;
    for (store::TierStatus& verdict : tier_verdicts(spool_, plan_, completeness, rows_.outcomes)) {
      verdict.process_id = rows_.process_id;
      const bool noteworthy =
          verdict.status != TierOutcome::ok && verdict.status != TierOutcome::not_requested;
      if (noteworthy && verdict.tier == Tier::t0) timeline_gaps = verdict.reason.value_or(Reason());
      // One cause, one line: what the agent said itself is not said again, and a verdict that says more than
      // the agent did takes the place of its words.
      const Reason reason = verdict.reason.value_or(Reason(ReasonCode::no_reason));
      const bool said = std::any_of(spool_.messages.begin(), spool_.messages.end(),
                                    [&](const AgentMessage& m) { return m.what == reason; });
      if (noteworthy && !said && !(verdict.tier != Tier::t0 && spool_.steps.empty())) {
        std::erase_if(summary_.warnings, [&](const Reason& warning) { return reason.holds(warning); });
        summary_.warnings.push_back(of_tier(verdict.tier, verdict.status, reason));
      }
      writer_.add(verdict);
    }
    if (completeness.strings_lost > 0) {
      rows_.say(Severity::warning, Reason(ReasonCode::names_lost, {{"names", completeness.strings_lost}}));
    }
    if (spool_.paths.size() >= kMostPaths) {
      rows_.say(Severity::warning, Reason(ReasonCode::range_paths_full, {{"limit", kMostPaths}}));
    } else if (completeness.nvtx_unbalanced > 0) {
      rows_.say(Severity::warning,
                Reason(ReasonCode::ranges_unbalanced, {{"calls", completeness.nvtx_unbalanced}}));
    }
    const std::int64_t kernels = spool_.kernel_records + spool_.graph_kernel_records;
    if (spool_.steps.empty() && kernels > 0)
      rows_.say(Severity::warning, without_steps(reader_, spool_, plan_));
    const auto& findings = reader_.diagnosis().findings;
    if (!reader_.diagnosis().intact()) {
      rows_.say(Severity::warning,
                Reason::said(ReasonCode::spool_damaged, findings.empty() ? "" : findings.front(),
                             {{"pid", rows_.pid},
                              {"bytes", completeness.truncated_bytes},
                              {"more", findings.size() > 1 ? findings.size() - 1 : 0}}));
    }
    if (!spool_.end && !spool_.left_alone()) {
      Reason unfinished(ReasonCode::process_unfinished, {{"pid", rows_.pid}});
      if (!timeline_gaps.empty()) unfinished.because.push_back(timeline_gaps);
      std::erase(summary_.warnings, of_tier(Tier::t0, TierOutcome::partial, timeline_gaps));
      rows_.say(Severity::warning, unfinished);
      summary_.unfinished.push_back({.warning = unfinished, .missing = timeline_gaps});
    }
  }

  ProcessImport& in_;
  ProcessRows rows_;
  store::CaptureWriter& writer_;
  const Reader& reader_;
  ScannedSpool& spool_;
  KernelIds kernels_;
  StepImport steps_;
  RangeImport ranges_;
  PmImport samples_;
  ImportSummary& summary_;
  RecordingPlan plan_;
};

}  // namespace

void import_process(ProcessImport& import, ImportSummary& summary) {
  Process(import, summary).write();
}

}  // namespace ridgeline::import
