#include "ridgeline/import/trace_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "kineto/kineto_import.h"
#include "nsys/nsys_import.h"
#include "nsys/nsys_program.h"
#include "perfetto/perfetto_import.h"
#include "recording/devices.h"
#include "recording/draft.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"
#include "ridgeline/store/capture_writer.h"

namespace ridgeline::import {

namespace {

std::uint64_t size_of(const std::string& path) {
  std::error_code code;
  const std::uintmax_t bytes = std::filesystem::file_size(path, code);
  return code ? 0 : bytes;
}

// "x.json is JSON without …", "x.json: the trace has no kernel": a sentence about the file has it as its subject.
std::string of_file(const std::string& path, std::string_view what) {
  for (const std::string_view verb : {"is ", "ends ", "could "})
    if (what.starts_with(verb)) return fmt::format("{} {}", path, what);
  return fmt::format("{}: {}", path, what);
}

class TraceImport {
 public:
  TraceImport(const std::string& output, const TraceOptions& options)
      : output_(output), options_(options), draft_(output) {}

  Result<ImportSummary> run(const std::vector<std::string>& paths) {
    std::vector<SourceKind> kinds;
    for (const std::string& path : paths) {
      const Result<SourceKind> kind = source_kind(path);
      if (!kind.ok()) return kind.failure();
      if (kind.value() == SourceKind::spool)
        return Failure{ErrorKind::usage,
                       fmt::format("{} is a directory: a spool directory is imported by itself", path)};
      kinds.push_back(kind.value());
      progress_.total_bytes += size_of(path);
    }
    {
      Result<store::CaptureWriter> created = store::CaptureWriter::create(draft_.path());
      if (!created.ok()) return created.failure();
      store::CaptureWriter writer = std::move(created).value();
      RecordedDevices devices(writer);
      for (std::size_t i = 0; i < paths.size(); ++i) {
        try {
          import_file(paths[i], kinds[i], writer, devices);
        } catch (const Error& error) {
          return Failure{error.kind(), of_file(paths[i], error.message())};
        }
      }
      if (summary_.processes == 0)
        return Failure{ErrorKind::no_data, fmt::format("{}: {}", paths.front(), empty_because_)};
      write_peaks(devices);
      writer.finish();
    }
    if (Result<void> published = draft_.publish(options_.import.overwrite); !published.ok())
      return published.failure();
    summary_.capture_path = output_;
    return std::move(summary_);
  }

 private:
  void import_file(const std::string& path, SourceKind kind, store::CaptureWriter& writer,
                   RecordedDevices& shared) {
    ForeignRecording recording = read(path, kind);
    recording.run.ridgeline_version = RIDGELINE_VERSION;
    // A file that is whole says all that was recorded; what was cut off has no end.
    for (const std::unique_ptr<ForeignProcess>& process : recording.processes) {
      if (!ran_something(*process) || process->first_ns > process->last_ns) continue;
      span(process->first_ns, process->last_ns, recording);
      if (!recording.cut) process->row.end_ns = process->last_ns;
    }
    if (!described_) writer.set_run(recording.run);
    described_ = true;
    for (const auto& [component, version] : recording.versions) writer.add_version(component, version);
    // Without UUIDs the device 0 of one file need not be that of another.
    std::optional<RecordedDevices> own;
    if (kind == SourceKind::trace_json || kind == SourceKind::perfetto) own.emplace(writer);
    RecordedDevices& devices = own ? *own : shared;
    bool first = true;
    for (std::unique_ptr<ForeignProcess>& process : recording.processes) {
      if (!ran_something(*process)) continue;
      if (first) {
        for (const Reason& note : recording.notes)
          process->losses.push_back({.what = note, .of_timeline = false});
      }
      first = false;
      write_process(*process, options_.step_range, writer, devices, summary_);
      process.reset();
    }
    if (own) write_peaks(*own);
    if (empty_because_.empty()) empty_because_ = recording.empty_because;
    finished_bytes_ += size_of(path);
    tell(0);
  }

  static void span(std::int64_t first_ns, std::int64_t last_ns, ForeignRecording& recording) {
    store::Run& run = recording.run;
    run.start_ns = std::min(run.start_ns.value_or(first_ns), first_ns);
    if (!recording.cut) run.end_ns = std::max(run.end_ns.value_or(last_ns), last_ns);
  }

  ForeignRecording read(const std::string& path, SourceKind kind) {
    if (kind == SourceKind::trace_json)
      return read_kineto(path, draft_.directory(), [this](std::uint64_t bytes) { tell(bytes); });
    if (kind == SourceKind::perfetto)
      return read_perfetto(path, draft_.directory(), [this](std::uint64_t bytes) { tell(bytes); });
    if (kind == SourceKind::nsys_export) return read_nsys(path, draft_.directory());
    const std::string exported = fmt::format("{}.{}.nsys.sqlite", output_, getpid());
    const UnfinishedFiles gone({exported});
    export_nsys_report(path, exported).value();
    ForeignRecording recording = read_nsys(exported, draft_.directory());
    gone.remove();
    return recording;
  }

  void write_peaks(RecordedDevices& devices) {
    devices.write_peaks();
    devices.write_ceilings(options_.import.ceilings_directory, options_.import.power_limits_w);
  }

  void tell(std::uint64_t bytes) {
    if (!options_.import.progress) return;
    progress_.done_bytes = std::min(finished_bytes_ + bytes, progress_.total_bytes);
    options_.import.progress(progress_);
  }

  const std::string& output_;
  const TraceOptions& options_;
  Draft draft_;
  ImportSummary summary_;
  ImportProgress progress_;
  std::uint64_t finished_bytes_ = 0;
  std::string empty_because_;
  bool described_ = false;
};

}  // namespace

Result<ImportSummary> import_traces(const std::vector<std::string>& paths, const std::string& output,
                                    const TraceOptions& options) {
  if (paths.empty()) return Failure{ErrorKind::usage, "no file to import"};
  if (Result<void> checked = check_output(output, options.import.overwrite); !checked.ok())
    return checked.failure();
  const FileSizeSignalIgnored ignored;
  try {
    return TraceImport(output, options).run(paths);
  } catch (const Error& error) {
    return Failure{error.kind(), fmt::format("importing {}: {}", paths.front(), error.message())};
  }
}

}  // namespace ridgeline::import
