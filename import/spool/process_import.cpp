#include "spool/process_import.h"

#include <fmt/format.h>

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
    if (!spool_.steps_found.empty()) rows_.say(Severity::info, spool_.steps_found);
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
    for (const MessageText& message : spool_.messages) {
      const Severity severity = is_known(message.severity) ? message.severity : Severity::info;
      writer_.add(
          store::Message{.process_id = rows_.process_id,
                         .time_ns = message.time_ns == 0 ? std::nullopt : std::optional(message.time_ns),
                         .severity = severity,
                         .text = message.text});
      const auto& warnings = summary_.warnings;
      // "Timeline only" says it of the samples, too.
      const MessageText* counters = spool_.message_about(spool::Topic::counters_refused);
      if (message.topic == spool::Topic::sampling_refused && counters != nullptr &&
          same_refusal(message.text, counters->text))
        continue;
      if (message.severity != Severity::info &&
          std::find(warnings.begin(), warnings.end(), message.text) == warnings.end()) {
        summary_.warnings.push_back(message.text);
      }
    }
  }

  void write_samples() {
    const PmImport::Target target{
        .writer = writer_,
        .process_id = rows_.process_id,
        .device_id = [this](std::uint32_t ordinal) { return rows_.device_id(ordinal); },
        .warn = [this](std::string text) { rows_.say(Severity::warning, std::move(text)); },
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
                  .warn = [this](std::string text) { rows_.say(Severity::warning, std::move(text)); }},
                 {});
  }

  void write_verdicts() {
    store::Completeness completeness = completeness_of(reader_, spool_);
    completeness.process_id = rows_.process_id;
    writer_.add(completeness);
    summary_.launches_seen += completeness.launches_seen;
    std::string timeline_gaps;
    for (store::TierStatus& verdict : tier_verdicts(spool_, plan_, completeness, rows_.outcomes)) {
      verdict.process_id = rows_.process_id;
      const bool noteworthy =
          verdict.status != TierOutcome::ok && verdict.status != TierOutcome::not_requested;
      if (noteworthy && verdict.tier == Tier::t0) timeline_gaps = verdict.reason.value_or("");
      // One cause, one line: what the agent said itself is not said again, and a verdict that says more than
      // the agent did takes the place of its words.
      const std::string reason = verdict.reason.value_or("no reason given");
      const bool said = std::any_of(spool_.messages.begin(), spool_.messages.end(),
                                    [&](const MessageText& m) { return m.text == reason; });
      if (noteworthy && !said && !(verdict.tier != Tier::t0 && spool_.steps.empty())) {
        std::erase_if(summary_.warnings,
                      [&](const std::string& w) { return reason.find(w) != std::string::npos; });
        summary_.warnings.push_back(
            fmt::format("tier {} {}: {}", to_string(verdict.tier), to_string(verdict.status), reason));
      }
      writer_.add(verdict);
    }
    if (completeness.strings_lost > 0) {
      rows_.say(
          Severity::warning,
          fmt::format("{} names found no room in the spool: kernels and ranges without a name are among them",
                      completeness.strings_lost));
    }
    if (spool_.paths.size() >= kMostPaths) {
      rows_.say(
          Severity::warning,
          fmt::format("the program nests its NVTX ranges in more than {} different ways (numbered names?): "
                      "launches after that have no range; name ranges alike in every step",
                      kMostPaths));
    } else if (completeness.nvtx_unbalanced > 0) {
      rows_.say(Severity::warning,
                fmt::format("{} NVTX calls could not be followed (an end without a begin, or too deeply "
                            "nested): ranges of some launches are missing or wrong",
                            completeness.nvtx_unbalanced));
    }
    const std::int64_t kernels = spool_.kernel_records + spool_.graph_kernel_records;
    if (spool_.steps.empty() && kernels > 0)
      rows_.say(Severity::warning, no_steps_text(reader_, spool_, plan_));
    const auto& findings = reader_.diagnosis().findings;
    if (!reader_.diagnosis().intact()) {
      rows_.say(Severity::warning,
                fmt::format("the spool of process {} is damaged, {} bytes are lost: {}{}", rows_.pid,
                            completeness.truncated_bytes, findings.empty() ? "no detail" : findings.front(),
                            findings.size() > 1 ? fmt::format(" (and {} more)", findings.size() - 1) : ""));
    }
    if (!spool_.end && !spool_.left_alone()) {
      const std::string text =
          fmt::format("process {} did not end in order (killed, crashed or still running): {}", rows_.pid,
                      timeline_gaps.empty() ? "the last moments of it may be missing" : timeline_gaps);
      std::erase_if(summary_.warnings, [&](const std::string& w) {
        return !timeline_gaps.empty() && w == "tier T0 partial: " + timeline_gaps;
      });
      rows_.say(Severity::warning, text);
      summary_.unfinished.push_back({.warning = text, .missing = timeline_gaps});
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
