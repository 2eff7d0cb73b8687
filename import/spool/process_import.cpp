#include "spool/process_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "recording/activities.h"
#include "recording/order.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "spool/collective_import.h"
#include "spool/counter_import.h"
#include "spool/intervention_import.h"
#include "spool/price_ahead.h"
#include "spool/spool_devices.h"
#include "spool/spool_events.h"
#include "spool/stall_import.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

constexpr std::size_t kMaxPaths = 1u << 16;  // that the agent keeps

Reason of_tier(Tier tier, TierOutcome outcome, Reason reason) {
  return Reason(ReasonCode::tier, {{"tier", to_string(tier)}, {"outcome", to_string(outcome)}},
                {std::move(reason)});
}

// What is said of the process as a whole; the parts write its rows.
class Process {
 public:
  Process(ProcessImport& import, ImportSummary& summary)
      : in_(import),
        rows_(import.writer, import.devices, summary),
        writer_(import.writer),
        reader_(import.reader),
        spool_(import.spool),
        kernels_(rows_, [this](std::uint32_t id) { return name_of(id); }),
        ranges_(rows_, import.spool),
        samples_(rows_),
        collectives_(import.reader, import.spool, import.splits, rows_),
        summary_(summary) {}

  void write() {
    plan_ = recording_plan(reader_, spool_, in_.manifest);
    collectives_.scan();
    write_process();
    collectives_.write_groups();
    if (in_.manifest && !in_.manifest->nccl_profiler.empty() && collectives_.without_details())
      rows_.say(Severity::info,
                Reason(ReasonCode::nccl_profiler_taken, {{"by", one_line(in_.manifest->nccl_profiler)}}));
    write_versions();
    for (const auto& [ordinal, device] : spool_.devices)
      rows_.add_device(ordinal, device_of(reader_, device));
    define_paths();
    write_all_steps();
    PriceAhead price(reader_, spool_, in_.kept_tracing);
    import::write_windows(rows_, spool_);
    if (spool_.steps_found) rows_.say(Severity::info, *spool_.steps_found);
    write_messages();
    expect_samples();
    write_activities();
    write_counters(reader_, spool_, rows_, kernels_, in_.progress_counters);
    write_samples();
    write_interventions(reader_, spool_, rows_, kernels_);
    if (spool_.has_stalls) write_stalls(reader_, spool_, rows_, kernels_, {});
    if (const auto paid = price.get()) rows_.say(Severity::info, *paid);
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
    if (!row.rank) row.rank = collectives_.rank();
    if (spool_.end) row.end_ns = spool_.end->time_ns;
    rows_.begin(row);
    if (const auto& process = spool_.process) {
      const std::string host = one_line(reader_.string_or(process->host_name, ""));
      if (!host.empty()) writer_.set_host(rows_.process_id(), host);
    }
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
          store::Message{.process_id = rows_.process_id(),
                         .time_ns = message.time_ns == 0 ? std::nullopt : std::optional(message.time_ns),
                         .severity = severity,
                         .what = message.what});
      const auto& warnings = summary_.warnings;
      // "Timeline only" says it of the samples, too.
      const AgentMessage* counters = spool_.message_about(spool::Topic::counters_refused);
      if (message.topic == spool::Topic::sampling_refused && counters != nullptr &&
          same_refusal(message.what, counters->what))
        continue;
      // Processes of one recording that share a GPU say it of each other: one line.
      if (message.topic == spool::Topic::company && message.severity != Severity::info &&
          std::exchange(summary_.company_said, true))
        continue;
      if (message.severity != Severity::info &&
          std::find(warnings.begin(), warnings.end(), message.what) == warnings.end()) {
        summary_.warnings.push_back(message.what);
      }
    }
  }

  KernelName name_of(std::uint32_t id) const {
    const auto function = spool_.kernels.find(id);
    const std::string unknown = fmt::format("unknown kernel {}", id);
    if (function == spool_.kernels.end()) return {unknown};
    return {std::string(reader_.string_or(function->second.name, unknown))};
  }

  void define_paths() {
    for (const auto& [id, node] : spool_.paths) {
      Path path{.parent = node.parent_id,
                .name = std::string(reader_.string_or(node.name, "?")),
                .domain = std::nullopt};
      if (const auto domain = reader_.string(node.domain)) path.domain = *domain;
      ranges_.define(id, std::move(path));
    }
  }

  void write_all_steps() {
    std::map<std::uint32_t, RecordedConfiguration> configurations;
    for (const auto& [id, config] : spool_.configs)
      configurations[id] = {.name = one_line(reader_.string_or(config.name, fmt::format("R{}", id))),
                            .passes = static_cast<int>(config.passes)};
    const auto judge = [this](const RecordedStep& step, store::Step& row) {
      row.phase = phase_of(spool_, step, plan_);
      judge_step(reader_, spool_, step, plan_, row);
    };
    write_steps(rows_, spool_, write_configurations(rows_, configurations), judge, outcomes_);
  }

  // One pass over the spool; says so if fewer launches came than were counted before.
  void write_activities() {
    const auto code_of = [this](const Execution& execution, const Call* call) {
      return execution.graph_node ? spool_.code_hash_of_node(execution.kernel)
                                  : spool_.code_hash(execution.kernel, call != nullptr ? call->code : 0);
    };
    RecordedActivities activities(rows_, kernels_, spool_, ranges_, samples_, code_of);
    activities.on_launch([this](const Execution& execution, store::Id id) {
      const auto kernel = spool_.kernels.find(execution.kernel);
      if (kernel != spool_.kernels.end())
        collectives_.ran(execution, id, reader_.string_or(kernel->second.name, ""));
    });
    activities.on_copy([this](const Copy& copy, store::Id id) { collectives_.copied(copy, id); });
    RecordedOrder order(rows_, spool_);
    const auto copy = [&](const Copy& event, std::uint32_t executable) {
      if (event.graph_node) order.ran(*event.graph_node, executable);
      activities.add(event);
    };
    constexpr RecordTypes kRows = RecordTypes::all().without({RecordType::string, RecordType::counter_value});
    visit_records(reader_, kRows, in_.progress_rows, [&](const RecordView& view) {
      if (const auto* kernel = view.as<KernelRecord>()) {
        if ((kernel->header.flags & kGraphNode) != 0) order.ran(kernel->graph_node_id, kernel->graph_id);
        activities.add(execution_of(*kernel));
      } else if (const auto* call = view.as<LaunchRecord>()) {
        if (expects_kernel(*call)) activities.add(call_of(*call));
      } else if (const auto* copied = view.as<MemcpyRecord>()) {
        copy(copy_of(*copied), copied->graph_id);
      } else if (const auto* set = view.as<MemsetRecord>()) {
        copy(copy_of(*set), set->graph_id);
      } else if (const auto* range = view.as<NvtxRangeRecord>()) {
        if (range->kind != NvtxKind::mark) ranges_.add(range_of(*range));
      } else if (const auto* payload = view.as<NvtxPayloadRecord>()) {
        ranges_.declare(payload->range_id, payload->schema_id, view.trailing_bytes());
      } else if (const auto* clock = view.as<ClockSampleRecord>()) {
        activities.add(clocks_of(*clock));
      } else if (const auto* wait = view.as<SynchronisationRecord>()) {
        if (is_known(wait->call)) activities.add(wait_of(*wait));  // else of another version
      } else if (!add_order(view, order)) {
        write_other(view);
      }
    });
    activities.finish();
    outcomes_.kernels_of_one_call = activities.kernels_of_one_call();
    collectives_.finish();
    order.finish();
    // The records were counted before: a file that shrinks meanwhile must not pass for whole.
    const std::int64_t counted = spool_.kernel_records + spool_.graph_kernel_records;
    if (activities.launches() >= counted && !reader_.has_shrunk()) return;
    rows_.say(Severity::error,
              Reason(ReasonCode::spool_cut,
                     {{"pid", rows_.pid()}, {"records", activities.launches()}, {"expected", counted}}));
  }

  // True: the record is of what orders work. Words of another version are left alone.
  static bool add_order(const RecordView& view, RecordedOrder& order) {
    if (const auto* call = view.as<StreamCallRecord>()) {
      if (is_known(call->call)) order.add(ordering_of(*call));
    } else if (const auto* use = view.as<MemoryCallRecord>()) {
      if (is_known(use->call)) order.add(use_of(*use));
    } else if (const auto* edge = view.as<GraphEdgeRecord>()) {
      order.add(edge_of(*edge));
    } else if (const auto* node = view.as<GraphNodeRecord>()) {
      order.add(node_of(*node));
    } else if (const auto* clone = view.as<GraphNodeCloneRecord>()) {
      order.add(clone_of(*clone));
    } else if (const auto* stream = view.as<StreamRecord>()) {
      if (is_known(stream->kind)) order.add(stream_of(*stream));
    } else if (const auto* left_out = view.as<LeftOutRecord>()) {
      if (is_known(left_out->what)) order.left_out(left_out->what, left_out->count);
    } else {
      return false;
    }
    return true;
  }

  void write_other(const RecordView& view) {
    if (const auto* overhead = view.as<OverheadRecord>()) {
      store::ProfilerOverhead row{.process_id = rows_.process_id(),
                                  .kind = overhead_kind(overhead->kind),
                                  .thread_id = std::nullopt,
                                  .start_ns = overhead->start_ns,
                                  .end_ns = overhead->end_ns};
      if (overhead->thread_id != 0) row.thread_id = overhead->thread_id;
      writer_.add(row);
      rows_.row_written();
    } else if (const auto* thread = view.as<ThreadRecord>()) {
      write_thread(*thread);
    } else if (const auto* pair = view.as<ClockPairRecord>()) {
      writer_.add(store::ClockPair{.process_id = rows_.process_id(),
                                   .time_ns = pair->cupti_ns,
                                   .realtime_ns = pair->realtime_ns,
                                   .monotonic_ns = pair->monotonic_ns});
    }
  }

  // What the program calls its thread stands, whatever the system calls it.
  void write_thread(const ThreadRecord& thread) {
    if ((thread.header.flags & kSystemThreadName) == 0)
      named_threads_.insert(thread.thread_id);
    else if (named_threads_.contains(thread.thread_id))
      return;
    writer_.add(store::Thread{.process_id = rows_.process_id(),
                              .thread_id = thread.thread_id,
                              .name = one_line(reader_.string_or(thread.name, "(name lost)"))});
  }

  // Of a step in the capture, where stretches have other numbers than in the record file. Once the steps are written.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t index) const {
    const auto step = spool_.steps.find(index);
    return step == spool_.steps.end() ? index : step->second.number;
  }

  void expect_samples() {
    for (const auto& [id, scanned] : spool_.pm_windows) {
      SampledWindow window;
      window.samples = scanned.samples;
      window.first_start_ns = scanned.first_start_ns;
      window.last_end_ns = scanned.last_end_ns;
      if (const auto& record = scanned.record) {
        window.device = record->device_id;
        window.first_step = number_of(record->first_step);
        window.last_step = number_of(record->last_step);
        window.interval_ns = record->interval_ns;
        window.buffer_bytes = static_cast<std::int64_t>(record->hardware_buffer_bytes);
        window.whole = record->status == WindowStatus::ok;
        if (!window.whole) window.reason = spool_.words_of(reader_, ReasonCode::sampling, record->reason);
      } else {
        window.reason = Reason(ReasonCode::samples_unread);
      }
      for (const std::uint32_t metric_id : scanned.metrics) {
        SampledMetric metric;
        if (const auto known = spool_.metrics.find(metric_id); known != spool_.metrics.end()) {
          metric.name = one_line(reader_.string_or(known->second.name, ""));
          metric.unit = one_line(reader_.string_or(known->second.unit, ""));
          metric.meaning = one_line(reader_.string_or(known->second.description, ""));
        }
        window.metrics.push_back(std::move(metric));
      }
      samples_.expect(id, std::move(window));
    }
  }

  void write_samples() {
    if (samples_.any_expected()) {
      for (const PmPeer& peer : in_.peers) {
        if (peer.reader != &reader_) add_peer(peer);
      }
      visit_records(reader_, {RecordType::pm_sample}, in_.progress_samples, [&](const RecordView& view) {
        const auto* sample = view.as<PmSampleRecord>();
        if (sample == nullptr || !is_plausible_sample(sample->start_ns, sample->end_ns)) return;
        const std::string_view bytes = view.trailing_bytes();
        std::vector<double> values(bytes.size() / sizeof(double));
        if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
        samples_.add_sample(sample->window_id, sample->start_ns, sample->end_ns, std::move(values));
      });
    }
    samples_.finish(outcomes_.sampling);
  }

  // Reads the peer's spool if a device is shared.
  void add_peer(const PmPeer& peer) {
    std::map<std::uint32_t, std::uint32_t> ours;  // ordinals by the peer's
    for (const auto& [theirs, device] : peer.devices) {
      for (const auto& [ordinal, own] : spool_.devices) {
        if (std::memcmp(own.uuid, device.uuid, sizeof own.uuid) == 0) ours[theirs] = ordinal;
      }
    }
    if (ours.empty()) return;
    const auto add = [&](std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) {
      if (const auto own = ours.find(device); own != ours.end())
        samples_.add_foreign(own->second, start_ns, end_ns);
    };
    visit_records(*peer.reader, {RecordType::kernel, RecordType::memcpy}, {}, [&](const RecordView& view) {
      if (const auto* kernel = view.as<KernelRecord>()) {
        add(kernel->device_id, kernel->start_ns, kernel->end_ns);
      } else if (const auto* copy = view.as<MemcpyRecord>()) {
        add(copy->device_id, copy->start_ns, copy->end_ns);
      }
    });
  }

  void write_verdicts() {
    store::Completeness completeness = completeness_of(reader_, spool_);
    completeness.process_id = rows_.process_id();
    writer_.add(completeness);
    summary_.launches_seen += completeness.launches_seen;
    Reason timeline_gaps;
    for (store::TierStatus& verdict : tier_verdicts(spool_, plan_, completeness, outcomes_)) {
      verdict.process_id = rows_.process_id();
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
    if (spool_.paths.size() >= kMaxPaths) {
      rows_.say(Severity::warning, Reason(ReasonCode::range_paths_full, {{"limit", kMaxPaths}}));
    } else if (completeness.nvtx_unbalanced > 0) {
      rows_.say(Severity::warning,
                Reason(ReasonCode::ranges_unbalanced, {{"calls", completeness.nvtx_unbalanced}}));
    }
    const std::int64_t kernels = spool_.kernel_records + spool_.graph_kernel_records;
    if (!spool_.has_steps() && kernels > 0)
      rows_.say(Severity::warning, without_steps(reader_, spool_, plan_));
    const auto& findings = reader_.diagnosis().findings;
    if (!reader_.diagnosis().intact()) {
      rows_.say(Severity::warning,
                Reason::said(ReasonCode::spool_damaged, findings.empty() ? "" : findings.front(),
                             {{"pid", rows_.pid()},
                              {"bytes", completeness.truncated_bytes},
                              {"more", findings.size() > 1 ? findings.size() - 1 : 0}}));
    }
    if (!spool_.end && !spool_.left_alone()) {
      Reason unfinished(ReasonCode::process_unfinished, {{"pid", rows_.pid()}});
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
  RecordedKernels kernels_;
  RecordedRanges ranges_;
  SampledWindows samples_;
  RecordedCollectives collectives_;
  TierOutcomes outcomes_;
  std::unordered_set<std::uint32_t> named_threads_;  // by the program
  ImportSummary& summary_;
  RecordingPlan plan_;
};

}  // namespace

void import_process(ProcessImport& import, ImportSummary& summary) {
  Process(import, summary).write();
}

}  // namespace ridgeline::import
