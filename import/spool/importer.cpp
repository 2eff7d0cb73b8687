#include "ridgeline/import/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "recording/draft.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "ridgeline/spool/environment.h"
#include "ridgeline/spool/manifest.h"
#include "ridgeline/spool/reader.h"
#include "ridgeline/store/capture_writer.h"
#include "spool/process_import.h"
#include "spool/spool_scan.h"
#include "spool/tier_verdict.h"

namespace ridgeline::import {

namespace fs = std::filesystem;

namespace {

struct OpenSpool {
  spool::Reader reader;
  ScannedSpool scanned;
};

// Counts passes over spools; tells the caller ten times a second.
class PassProgress {
 public:
  PassProgress(const ImportOptions& options, std::uint64_t spool_bytes) : options_(options) {
    progress_.total_bytes = spool_bytes * kPassesPerSpool;
  }
  void at(std::uint64_t offset) {
    if (!options_.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    progress_.done_bytes = std::min(finished_ + offset, progress_.total_bytes);
    options_.progress(progress_);
  }
  void pass_done(std::uint64_t bytes) { finished_ += bytes; }
  void all_done() {
    if (!options_.progress) return;
    progress_.done_bytes = progress_.total_bytes;
    options_.progress(progress_);
  }

 private:
  const ImportOptions& options_;
  ImportProgress progress_;
  std::uint64_t finished_ = 0;
  std::chrono::steady_clock::time_point last_{};
};

store::Run run_of(const std::optional<spool::LaunchManifest>& manifest,
                  const std::vector<OpenSpool>& spools) {
  store::Run run;
  run.ridgeline_version = RIDGELINE_VERSION;
  const spool::Reader& first = spools.front().reader;
  run.clock = one_line(first.file_header().clock);
  if (manifest) {
    run.command_line = shell_quoted(command_without_secrets(manifest->program, manifest->redact));
    run.working_directory = manifest->working_directory;
    run.git_commit = manifest->git_commit;
    run.git_dirty = manifest->git_dirty;
    run.host_name = manifest->host_name;
    run.os = manifest->os;
    run.start_ns = manifest->start_ns;
    run.end_ns = manifest->end_ns;
    run.exit_status = manifest->exit_status;
    run.exit_signal = manifest->exit_signal;
  }
  if (const auto& process = spools.front().scanned.process; process && !manifest) {
    const std::string arguments(first.string_or(process->arguments, ""));
    run.command_line = shell_quoted(command_without_secrets(split(arguments, '\0')));
    run.working_directory = one_line(first.string_or(process->working_directory, ""));
    run.host_name = one_line(first.string_or(process->host_name, ""));
    run.start_ns = process->start_ns;
  }
  const RecordingPlan plan = recording_plan(first, spools.front().scanned, manifest);
  run.schedule = plan.schedule;
  run.step_range = plan.step_range;
  return run;
}

// Why a recording has no kernel in it, and what to look at.
Failure nothing_recorded(const std::string& directory, const std::optional<spool::LaunchManifest>& manifest,
                         const std::vector<OpenSpool>& spools, const std::optional<Failure>& unreadable) {
  for (const OpenSpool& each : spools) {
    for (const auto topic :
         {spool::Topic::subscriber_taken, spool::Topic::cupti_missing, spool::Topic::timeline_refused}) {
      if (const AgentMessage* message = each.scanned.message_about(topic)) {
        return {ErrorKind::environment, message->what.text};
      }
    }
  }
  if (spools.empty() && unreadable) return *unreadable;
  for (const OpenSpool& each : spools) {
    const spool::Diagnosis& diagnosis = each.reader.diagnosis();
    if (diagnosis.intact()) continue;
    return {ErrorKind::corrupt,
            fmt::format("{} is damaged and no kernel record is left in it: {}", one_line(each.reader.path()),
                        diagnosis.findings.empty() ? "records are missing" : diagnosis.findings.front())};
  }
  std::string name =
      manifest && !manifest->program.empty() ? one_line(base_name(manifest->program.front())) : directory;
  std::string end;
  if (manifest && (manifest->exit_signal || manifest->exit_status.value_or(0) != 0)) {
    end = fmt::format(" ({})", describe_exit(manifest->exit_status, manifest->exit_signal));
  }
  const bool any_window = std::any_of(spools.begin(), spools.end(),
                                      [](const OpenSpool& each) { return !each.scanned.windows.empty(); });
  if (!spools.empty() && manifest && !manifest->window.empty() && !any_window) {
    return {ErrorKind::no_data,
            fmt::format("no recording window was open while {} ran{} ({}): {}", name, end, manifest->window,
                        manifest->window == "--wait" ? "send SIGUSR2 to ridgeline to open one"
                                                     : "it ended too soon after its first CUDA context")};
  }
  if (!spools.empty() && !end.empty()) {  // its own error, which it has reported itself
    return {
        ErrorKind::no_data,
        fmt::format("{} ended before it ran a kernel{}, so there is nothing to record: look at what it said",
                    name, end)};
  }
  if (!spools.empty()) {
    return {
        ErrorKind::no_data,
        fmt::format("{} loaded CUDA but ran no kernel: check that it works on the GPU and runs long enough",
                    name)};
  }
  return {
      ErrorKind::no_data,
      fmt::format("{} never used CUDA{}, so there is nothing to record: check that it finds a GPU (ridgeline "
                  "doctor), that it is not a setuid program, and that it keeps CUDA_INJECTION64_PATH",
                  name, end)};
}

// Launches without a single kernel record, and nothing that forbade recording: the program was killed before
// the first records were fetched. That is what happened, so it is worth a capture.
bool launched_something(const std::vector<OpenSpool>& spools) {
  bool launched = false;
  for (const OpenSpool& each : spools) {
    for (const auto topic :
         {spool::Topic::subscriber_taken, spool::Topic::cupti_missing, spool::Topic::timeline_refused}) {
      if (each.scanned.message_about(topic) != nullptr) return false;
    }
    const auto& counted = each.scanned.completeness;
    launched = launched || each.scanned.launches_seen > 0 || (counted && counted->launches_seen > 0);
  }
  return launched;
}

// Where the recording was given another range that makes a step, no other stands for it.
bool by_ranges(const OpenSpool& each, const std::optional<spool::LaunchManifest>& manifest) {
  return recording_plan(each.reader, each.scanned, manifest).step_range ==
         spool::environment::kDefaultStepRange;
}

Result<ImportSummary> import_checked(const std::string& directory, const std::string& output,
                                     const ImportOptions& options) {
  Result<std::optional<spool::LaunchManifest>> read = spool::read_manifest(directory);
  std::vector<Reason> warnings;
  if (!read.ok()) warnings.push_back(Reason::said(ReasonCode::file_unreadable, read.failure().message));
  const std::optional<spool::LaunchManifest> manifest = read.ok() ? read.value() : std::nullopt;

  std::vector<OpenSpool> spools;
  std::optional<Failure> unreadable;
  std::uint64_t bytes = 0;
  for (const std::string& path : spool::list_spools(directory)) {
    std::string error;
    std::optional<spool::Reader> reader = spool::Reader::open(path, &error);
    if (!reader) {
      // One that may not be read is not therefore damaged.
      const Result<std::string> content = read_file(path, 0);
      const bool closed = !content.ok() && content.failure().kind == ErrorKind::io;
      unreadable = {closed ? ErrorKind::io : ErrorKind::corrupt, one_line(error)};
      warnings.push_back(Reason::said(ReasonCode::file_unreadable, unreadable->message));
      continue;
    }
    bytes += reader->diagnosis().file_bytes;
    spools.push_back({std::move(*reader), {}});
  }

  PassProgress progress(options, bytes);
  const auto tell = [&](std::uint64_t offset) { progress.at(offset); };
  const auto pass = [&](const OpenSpool& each, auto&& work) {
    work();
    progress.pass_done(each.reader.diagnosis().file_bytes);
  };
  std::int64_t kernels = 0;
  for (OpenSpool& each : spools) {
    pass(each, [&] { each.scanned = scan_definitions(each.reader, tell); });
    search_steps(each.reader, each.scanned, by_ranges(each, manifest));
    pass(each, [&] { scan_launches(each.reader, each.scanned, tell); });
    pass(each, [&] { scan_copies_and_counters(each.reader, each.scanned, tell); });
    kernels += each.scanned.kernel_records + each.scanned.graph_kernel_records;
  }
  if (kernels == 0 && !launched_something(spools)) {
    return nothing_recorded(directory, manifest, spools, unreadable);
  }
  std::erase_if(spools, [](const OpenSpool& each) { return each.scanned.is_empty(); });
  // The busiest process first: its schedule and clock speak for the run.
  std::stable_sort(spools.begin(), spools.end(), [](const OpenSpool& a, const OpenSpool& b) {
    return a.scanned.kernel_records + a.scanned.graph_kernel_records >
           b.scanned.kernel_records + b.scanned.graph_kernel_records;
  });

  Draft draft(output);
  ImportSummary summary;
  {
    Result<store::CaptureWriter> created = store::CaptureWriter::create(draft.path());
    if (!created.ok()) return created.failure();
    store::CaptureWriter writer = std::move(created).value();
    writer.set_run(run_of(manifest, spools));
    if (manifest) {
      for (const auto& [name, value] : manifest->environment) writer.add_environment(name, value);
      for (const auto& [component, version] : manifest->versions) writer.add_version(component, version);
      for (const std::string& warning : manifest->warnings)
        warnings.push_back(Reason::said(ReasonCode::launcher, warning));
      if (!manifest->end_ns) warnings.push_back(Reason(ReasonCode::end_not_seen));
    }
    for (const Reason& warning : warnings) {
      writer.add(store::Message{.time_ns = std::nullopt, .severity = Severity::warning, .what = warning});
    }
    RecordedDevices devices(writer);
    std::vector<PmPeer> peers;
    for (const OpenSpool& each : spools) peers.push_back({&each.reader, each.scanned.devices});
    SplitGroups splits;
    for (const OpenSpool& each : spools) splits.add(each.reader, each.scanned);
    for (OpenSpool& each : spools) {
      const std::uint64_t size = each.reader.diagnosis().file_bytes;
      const auto tell_pass = [&](std::uint64_t passes_before) -> OffsetProgress {
        return [&tell, before = passes_before * size](std::uint64_t offset) { tell(before + offset); };
      };
      ProcessImport process{writer,   devices,      each.reader, each.scanned,
                            manifest, peers,        splits,      options.kept_tracing,
                            tell,     tell_pass(1), tell_pass(2)};
      import_process(process, summary);
      progress.pass_done(3 * size);
      each.scanned = {};
    }
    devices.write_peaks();
    devices.write_ceilings(options.ceilings_directory, options.power_limits_w);
    writer.finish();
  }
  summary.warnings.insert(summary.warnings.begin(), warnings.begin(), warnings.end());
  if (Result<void> published = draft.publish(options.overwrite); !published.ok()) return published.failure();
  summary.capture_path = output;
  progress.all_done();
  return summary;
}

}  // namespace

Result<void> check_spool_directory(const std::string& spool_directory) {
  std::error_code code;
  const fs::file_status status = fs::status(spool_directory, code);
  if (status.type() == fs::file_type::not_found)
    return Failure{ErrorKind::usage, fmt::format("{}: no such directory", spool_directory)};
  if (status.type() == fs::file_type::none)
    return Failure{ErrorKind::io, fmt::format("{} cannot be reached: {}", spool_directory, code.message())};
  if (!fs::is_directory(status)) {
    return Failure{
        ErrorKind::usage,
        fmt::format("{} is no directory: name the spool directory of a recording", spool_directory)};
  }
  // One that may not be listed would look like an empty one.
  if (const fs::directory_iterator listed(spool_directory, code); code)
    return Failure{ErrorKind::io, fmt::format("{} cannot be read: {}", spool_directory, code.message())};
  if (spool::list_spools(spool_directory).empty() &&
      !fs::exists(fs::path(spool_directory) / spool::kManifestName, code)) {
    return Failure{ErrorKind::usage,
                   fmt::format("{} is no spool directory, it holds neither {} nor a *.spool: name "
                               "that of a recording",
                               spool_directory, spool::kManifestName)};
  }
  return {};
}

Result<ImportSummary> import_spools(const std::string& spool_directory, const std::string& output,
                                    const ImportOptions& options) {
  if (Result<void> checked = check_spool_directory(spool_directory); !checked.ok()) return checked.failure();
  if (Result<void> checked = check_output(output, options.overwrite); !checked.ok()) return checked.failure();
  const FileSizeSignalIgnored ignored;
  try {
    return import_checked(spool_directory, output, options);
  } catch (const Error& error) {
    return Failure{error.kind(), fmt::format("importing {}: {}", spool_directory, error.message())};
  }
}

std::string planned_output(const std::string& spool_directory) {
  const Result<std::optional<spool::LaunchManifest>> manifest = spool::read_manifest(spool_directory);
  return manifest.ok() && manifest.value() ? manifest.value()->output : "";
}

}  // namespace ridgeline::import
