// info_table.cpp: what a capture says about its recording, and the rows of a query.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <type_traits>

#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

// A peak in its quantity's unit. The data sheet's is what reports take, whatever the program that
// recorded wrote down.
std::string stored_peak_text(const analyzer::Model& model, const store::DevicePeak& stored) {
  analyzer::Peak peak{.quantity = stored.quantity, .value = stored.value, .source = stored.source};
  peak.detail = stored.detail.value_or("");
  if (const auto used = analyzer::choose_peak(model, stored.device_id, stored.quantity, stored.source);
      used && !used.value().fallback)
    peak = used.value();
  std::string text = analyzer::is_bandwidth(peak.quantity) ? bandwidth_text(peak.value)
                     : analyzer::is_flops(peak.quantity)   ? fixed(peak.value * 1e-12, 1) + " TFLOP/s"
                     : to_string(peak.quantity).ends_with("_ops_per_s")
                         ? fixed(peak.value * 1e-12, 1) + " TOP/s"
                         : fmt::format("{}", peak.value);
  text.append(", ").append(to_string(peak.source));
  if (!peak.detail.empty()) text += " (" + peak.detail + ")";
  return text;
}

std::string pm_window_text(const store::PmWindow& window) {
  std::string text = fmt::format("{} every {}", counted(window.sample_count, "sample"),
                                 time_text(static_cast<double>(window.interval_ns)));
  if (window.start_ns && window.end_ns)
    text += fmt::format(", {}", time_text(static_cast<double>(*window.end_ns - *window.start_ns)));
  if (window.first_step_index && window.last_step_index) {
    text += *window.first_step_index == *window.last_step_index
                ? fmt::format(", step {}", *window.first_step_index)
                : fmt::format(", steps {} to {}", *window.first_step_index, *window.last_step_index);
  }
  if (window.buffer_bytes > 0)
    text += fmt::format(", buffer {}", bytes_text(static_cast<double>(window.buffer_bytes)));
  if (window.clock_shift_ns) {
    text += fmt::format(", clock shifted by {}{}", *window.clock_shift_ns > 0 ? "+" : "",
                        time_text(static_cast<double>(*window.clock_shift_ns)));
    if (window.shift_correlation)
      text += fmt::format(" (correlation {})", fixed(*window.shift_correlation, 3));
  }
  if (window.overflow) text += ", the buffer overflowed: samples end early";
  if (window.status != WindowStatus::ok) text.append("; ").append(to_string(window.status));
  if (window.reason && !window.reason->empty()) text += ": " + reason_text(*window.reason);
  return text;
}

// "96.3 % of 216.1 ms of kernel time" for each tier; its metrics may differ.
std::map<std::string, std::string> coverage_texts(const analyzer::Model& model) {
  struct Range {
    double least = 1, most = 0;
    std::int64_t kernel_time_ns = 0;
    std::int64_t metrics = 0;
  };
  std::map<std::string, Range> ranges;
  for (const store::TierCoverage& row : model.tier_coverage) {
    if (row.kernel_time_ns <= 0) continue;
    const std::string name = model.processes.size() > 1
                                 ? fmt::format("{} process {}", to_string(row.tier), row.process_id)
                                 : std::string(to_string(row.tier));
    Range& range = ranges[name];
    const double share = static_cast<double>(row.covered_ns) / static_cast<double>(row.kernel_time_ns);
    range.least = std::min(range.least, share);
    range.most = std::max(range.most, share);
    range.kernel_time_ns = std::max(range.kernel_time_ns, row.kernel_time_ns);
    ++range.metrics;
  }
  std::map<std::string, std::string> texts;
  for (const auto& [tier, range] : ranges) {
    const std::string share = range.most - range.least < 0.0005
                                  ? percent_text(range.most)
                                  : fmt::format("{} to {}", percent(range.least), percent_text(range.most));
    texts[tier] =
        fmt::format("{} of {} of kernel time in its steps, {}", share,
                    time_text(static_cast<double>(range.kernel_time_ns)), counted(range.metrics, "metric"));
  }
  return texts;
}

struct InfoLine {
  std::string section, name;
  Cell value;
};

std::vector<Column<InfoLine>> info_columns() {
  return {
      {{.key = "section", .header = "section", .help = "run, processes, devices, ...", .align = Align::left},
       [](const InfoLine& l) { return Cell::text(l.section); }},
      {{.key = "name",
        .header = "name",
        .help = "what is told",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 16},
       [](const InfoLine& l) { return Cell::text(l.name); }},
      {{.key = "value",
        .header = "value",
        .help = "a text or a number",
        .align = Align::left,
        .elide = Elide::end},
       [](const InfoLine& l) { return l.value; }},
  };
}

// A value of a query as it is: ids and times without thousands separators.
Cell query_cell(const store::Value& value) {
  return std::visit(
      [](const auto& v) -> Cell {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Cell::worded("NULL", std::monostate{}, Style::dim);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return Cell::text(v);
        } else {
          return Cell::number(v, Form::plain);
        }
      },
      value);
}

std::string_view source_text(StepSource source) {
  switch (source) {
    case StepSource::nvtx:
      return "a range that the program marks";
    case StepSource::period:
      return "the period of its launches";
    case StepSource::window:
      break;
  }
  return "nothing: the whole recording is ranked";
}

// The lines, section by section.
class InfoLines {
 public:
  explicit InfoLines(const analyzer::Model& model) : model_(model) {}

  void run();
  void machine();
  void steps();
  void windows();
  void tiers();
  void order();
  void memory();
  void completeness();
  void messages();
  void rows(const std::map<std::string, std::int64_t>& rows);

  [[nodiscard]] std::vector<InfoLine> take() { return std::move(lines_); }

 private:
  void add(const char* section, std::string name, std::string value) {
    lines_.push_back({section, std::move(name), Cell::text(std::move(value))});
  }
  void count(const char* section, std::string name, std::int64_t value) {
    lines_.push_back({section, std::move(name), Cell::number(value)});
  }

  /// Where a process ran, if that is not where the recording was started.
  [[nodiscard]] std::string host_of(store::Id process_id) const {
    if (!model_.order_summary) return "";
    const auto host = model_.order_summary->hosts.find(process_id);
    const bool elsewhere =
        host != model_.order_summary->hosts.end() && !(model_.run && model_.run->host_name == host->second);
    return elsewhere ? host->second : "";
  }

  const analyzer::Model& model_;
  std::vector<InfoLine> lines_;
};

void InfoLines::run() {
  for (const Fact& fact : run_facts(model_)) {
    if (fact.key != "gpu" && fact.key != "driver" && fact.key != "libraries")
      add("run", fact.label, fact.value);
  }
  if (!model_.run) add("run", "state", "the recording never began");
  if (model_.run) {
    if (model_.run->working_directory) add("run", "Directory", *model_.run->working_directory);
    if (model_.run->os) add("run", "System", *model_.run->os);
    if (model_.run->step_range) add("run", "Step range", *model_.run->step_range);
    add("run", "Clock", model_.run->clock);
    if (model_.run->start_ns && model_.run->end_ns) {
      add("run", "Duration", time_text(static_cast<double>(*model_.run->end_ns - *model_.run->start_ns)));
    } else {
      add("run", "Duration", "unknown: the recording was interrupted");
    }
  }
  for (const store::Process& process : model_.processes) {
    std::string text = fmt::format("pid {}", process.pid);
    if (process.rank) text += fmt::format(", rank {}", *process.rank);
    if (const std::string host = host_of(process.id); !host.empty()) text += ", on " + host;
    if (process.command) text += ", " + *process.command;
    if (!process.end_ns) text += " (no orderly end)";
    add("processes", fmt::format("{}", process.id), text);
  }
}

void InfoLines::machine() {
  for (const store::Device& device : model_.devices) {
    std::string text = device.name;
    if (device.chip) text += ", " + *device.chip;
    if (device.compute_capability) text += ", compute capability " + *device.compute_capability;
    if (device.sm_count) text += fmt::format(", {} SMs", *device.sm_count);
    if (device.max_sm_clock_hz) text += ", up to " + clock_text(static_cast<double>(*device.max_sm_clock_hz));
    if (device.memory_bytes) text += ", " + bytes_text(static_cast<double>(*device.memory_bytes));
    if (device.l2_bytes) text += ", L2 " + bytes_text(static_cast<double>(*device.l2_bytes));
    add("devices", fmt::format("{}", device.device_index), text);
    if (device.uuid) add("devices", fmt::format("{} UUID", device.device_index), *device.uuid);
  }
  for (const store::DevicePeak& peak : model_.device_peaks)
    add("peaks", std::string(to_string(peak.quantity)), stored_peak_text(model_, peak));
  for (const auto& [component, version] : model_.versions) add("versions", component, version);
  // A list of hundreds of drivers is for machines; people see its ends.
  constexpr int kEnvironmentColumns = 160;
  for (const auto& [name, value] : model_.environment) {
    lines_.push_back({"environment", name, Cell::worded(elide_middle(value, kEnvironmentColumns), value)});
  }
}

void InfoLines::steps() {
  std::map<std::string_view, std::int64_t> phases;  // by name
  std::map<StepSource, std::int64_t> sources;
  std::int64_t not_ok = 0, superseded = 0;
  for (const analyzer::ModelStep& step : model_.steps) {
    if (analyzer::is_superseded(step.step)) {
      ++superseded;
      continue;
    }
    ++phases[to_string(step.step.phase)];
    ++sources[step.step.source];
    if (step.step.status != StepStatus::ok) ++not_ok;
  }
  for (const auto& [phase, number] : phases) count("steps", std::string(phase), number);
  if (not_ok > 0) count("steps", "not ok", not_ok);
  if (superseded > 0) count("steps", "superseded", superseded);
  if (phases.empty()) add("steps", "none", "no step range was seen");
  // A marked range is the usual way and goes without saying.
  const bool usual = sources.size() == 1 && sources.begin()->first == StepSource::nvtx;
  for (const auto& [source, number] : sources) {
    if (!usual) add("steps", "found by", fmt::format("{} ({})", source_text(source), integer(number)));
  }
}

void InfoLines::windows() {
  for (const store::RecordingWindow& window : model_.recording_windows) {
    // A window from the start to the end is no news either.
    const std::optional<std::int64_t> run_end_ns = model_.run ? model_.run->end_ns : std::nullopt;
    const bool to_the_end = !window.end_ns || !run_end_ns || *window.end_ns >= *run_end_ns - 1'000'000'000;
    if (window.cause == WindowCause::start && to_the_end && model_.recording_windows.size() == 1) continue;
    const std::int64_t origin = model_.run && model_.run->start_ns ? *model_.run->start_ns : window.start_ns;
    add("recording windows", fmt::format("{}", window.id),
        fmt::format(
            "from {} on{}, opened by {}", time_text(static_cast<double>(window.start_ns - origin)),
            window.end_ns
                ? fmt::format(", for {}", time_text(static_cast<double>(*window.end_ns - window.start_ns)))
                : std::string(),
            to_string(window.cause)));
  }
}

void InfoLines::tiers() {
  for (const store::TierStatus& tier : model_.tier_statuses) {
    const std::string name = model_.processes.size() > 1
                                 ? fmt::format("{} process {}", to_string(tier.tier), tier.process_id)
                                 : std::string(to_string(tier.tier));
    const std::string reason = tier.reason && !tier.reason->empty() ? ": " + reason_text(*tier.reason) : "";
    add("tiers", name, std::string(to_string(tier.status)) + reason);
  }
  for (const auto& [tier, text] : coverage_texts(model_)) add("coverage", tier, text);
  for (const store::PmWindow& window : model_.pm_windows)
    add("sampling windows", fmt::format("{}", window.id), pm_window_text(window));
  for (const store::ReplayExclusion& row : model_.replay_exclusions) {
    const store::Kernel* kernel = model_.kernel(row.kernel_id);
    add("left out of replay", std::string(to_string(row.reason)),
        kernel == nullptr ? "?" : kernel->demangled_name);
  }
}

// What orders work beside streams; nothing of it goes without saying.
void InfoLines::order() {
  if (!model_.order_summary) return;
  const store::OrderSummary& order = *model_.order_summary;
  const auto calls = [&](const char* name, std::initializer_list<StreamCall> kinds) {
    std::int64_t sum = 0;
    for (const StreamCall kind : kinds) {
      if (const auto found = order.calls.find(kind); found != order.calls.end()) sum += found->second;
    }
    if (sum > 0) count("order", name, sum);
  };
  calls("events recorded", {StreamCall::event_record});
  calls("waits of streams for events", {StreamCall::event_wait});
  calls("host functions", {StreamCall::host_function, StreamCall::host_callback});
  calls("waits of streams for memory",
        {StreamCall::memory_wait, StreamCall::memory_operations, StreamCall::semaphore_wait});
  if (order.graph_edges > 0) count("order", "edges of graphs", order.graph_edges);
}

void InfoLines::memory() {
  if (!model_.order_summary) return;
  for (const store::MemoryPeak& peak : model_.order_summary->memory) {
    const store::Device* device = model_.device(peak.device_id);
    std::string name = fmt::format("device {}", device == nullptr ? 0 : device->device_index);
    if (model_.processes.size() > 1) name += fmt::format(" process {}", peak.process_id);
    add("memory", name,
        fmt::format("at most {}, {} at the end, in {}", bytes_text(static_cast<double>(peak.peak_bytes)),
                    bytes_text(static_cast<double>(peak.last_bytes)), counted(peak.calls, "call")));
  }
  std::map<LeftOut, std::int64_t> left_out;
  for (const store::LeftOutCount& row : model_.order_summary->left_out) left_out[row.what] += row.count;
  for (const auto& [what, number] : left_out) {
    const char* name = what == LeftOut::stream_calls  ? "calls that order streams"
                       : what == LeftOut::graph_nodes ? "nodes of graphs"
                                                      : "calls for memory";
    count("left out", name, number);
  }
}

void InfoLines::completeness() {
  store::Completeness sum;
  for (const store::Completeness& c : model_.completeness) {
    sum.launches_seen += c.launches_seen;
    sum.kernel_records += c.kernel_records;
    sum.graph_launches += c.graph_launches;
    sum.graph_kernel_records += c.graph_kernel_records;
    sum.profiler_records += c.profiler_records;
    sum.dropped_records += c.dropped_records;
    sum.lost_spool_records += c.lost_spool_records;
    sum.zero_timestamps += c.zero_timestamps;
    sum.truncated_bytes += c.truncated_bytes;
  }
  if (model_.completeness.empty()) {
    add("completeness", "state", "unknown: the collector did not say");
  } else {
    count("completeness", "launches seen", sum.launches_seen);
    count("completeness", "kernel records", sum.kernel_records);
    count("completeness", "graph launches", sum.graph_launches);
    count("completeness", "graph kernel records", sum.graph_kernel_records);
    count("completeness", "profiler's own kernels", sum.profiler_records);
    count("completeness", "dropped records", sum.dropped_records);
    count("completeness", "lost spool records", sum.lost_spool_records);
    count("completeness", "zero timestamps", sum.zero_timestamps);
    count("completeness", "truncated bytes", sum.truncated_bytes);
  }
}

void InfoLines::messages() {
  for (const store::Message& message : model_.messages) {
    add("messages", std::string(to_string(message.severity)), reason_text(message.what));
  }
}

void InfoLines::rows(const std::map<std::string, std::int64_t>& rows) {
  for (const auto& [name, number] : rows) count("rows", name, number);
}

}  // namespace

Table info_table(const analyzer::Model& model, const std::map<std::string, std::int64_t>& rows) {
  InfoLines all(model);
  all.run();
  all.machine();
  all.steps();
  all.windows();
  all.tiers();
  all.order();
  all.memory();
  all.completeness();
  all.messages();
  all.rows(rows);
  const auto lines = std::make_shared<const std::vector<InfoLine>>(all.take());
  return {info_columns(), lines->size(), [lines](std::size_t i) -> const InfoLine& { return (*lines)[i]; }};
}

Table query_table(const store::Capture::Table& result) {
  using Row = std::vector<store::Value>;
  std::vector<Column<Row>> columns;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < result.columns.size(); ++i) {
    const bool numbers =
        !result.rows.empty() && std::all_of(result.rows.begin(), result.rows.end(), [&](const auto& row) {
          return !std::holds_alternative<std::string>(row[i]);
        });
    // Two columns of one name stay two in JSON. Where the width does not suffice, the last columns go first.
    std::string key = result.columns[i];
    for (int n = 2; !keys.insert(key).second; ++n) key = fmt::format("{}_{}", result.columns[i], n);
    columns.push_back({{.key = key,
                        .header = result.columns[i],
                        .align = numbers ? Align::right : Align::left,
                        .elide = numbers ? Elide::never : Elide::middle,
                        .min_width = 12,
                        .drop_order = static_cast<int>(i)},
                       [i](const Row& row) { return query_cell(row[i]); }});
  }
  return {std::move(columns), result.rows.size(),
          [&result](std::size_t i) -> const Row& { return result.rows[i]; }};
}

}  // namespace ridgeline::reports
