// spool_scan.h: what must be known of one process's spool before rows can be written: definitions, steps with
// their extent on the GPU, and which replay steps measured what the timeline ran.
//
// Order: 1. scan_definitions()  2. scan_launches()  3. scan_copies_and_counters(). Each is one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording/price.h"
#include "recording/steps.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::import {

/// What the agent said.
struct AgentMessage {
  std::int64_t time_ns = 0;
  Severity severity = Severity::info;
  spool::Topic topic = spool::Topic::general;
  Reason what;  // the topic's code, the refusal's cause, the agent's words
};

/// A window of periodic samples (T1).
struct ScannedPmWindow {
  std::optional<spool::PmWindowRecord> record;  // none: the recording ended before it was decoded to the end
  std::vector<std::uint32_t> metrics;           // spool's ids, by position
  std::int64_t samples = 0;                     // in the spool
  std::int64_t first_start_ns = 0, last_end_ns = 0;  // of those, as stamped
};

struct ScannedSpool : RecordedSteps {
  std::optional<spool::ProcessRecord> process;
  std::vector<spool::VersionRecord> versions;
  std::map<std::uint32_t, spool::DeviceRecord> devices;                    // by CUDA ordinal
  std::unordered_map<std::uint32_t, spool::KernelFunctionRecord> kernels;  // with the newest code
  /// All code hashes of the kernels that have more than one.
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> codes;
  std::unordered_map<std::uint32_t, std::size_t>
      captured;  // LaunchRecord::code of captured launches: the last's place
  /// Whole code hash of a launch of that kernel, from LaunchRecord::code; 0: not known.
  [[nodiscard]] std::uint64_t code_hash(std::uint32_t kernel_id, std::uint32_t code) const;
  /// The same of a node of a graph, whose launch names no kernel: the code that was captured last.
  [[nodiscard]] std::uint64_t code_hash_of_node(std::uint32_t kernel_id) const;
  std::unordered_map<std::uint32_t, spool::NvtxPathRecord> paths;
  std::unordered_map<std::uint32_t, spool::MetricRecord> metrics;
  std::map<std::uint32_t, spool::CounterConfigRecord> configs;
  std::map<std::uint32_t, ScannedPmWindow> pm_windows;  // by id
  std::optional<spool::CompletenessRecord> completeness;
  std::vector<AgentMessage> messages;
  std::optional<spool::EndRecord> end;
  /// The process went on, but recording had been ended.
  [[nodiscard]] bool left_alone() const { return !windows.empty() && windows.back().close_ns.has_value(); }
  std::map<std::uint32_t, std::int64_t> ranges_by_path;  // outermost ranges, how many of each

  std::vector<StepBlock> blocks;  // that tell what recording costs
  /// Counted in the spool itself.
  std::int64_t copies = 0;  // memcpy and memset
  std::int64_t zero_timestamps = 0;
  std::int64_t stall_samples = 0;  // records of them
  bool has_stalls = false;         // those or their windows

  [[nodiscard]] const AgentMessage* message_about(spool::Topic topic) const;
  /// The words of a record that has no code of its own: what a message says in the same words, with its code and cause;
  /// else of the code given. no_reason or text_lost without any.
  [[nodiscard]] Reason words_of(const spool::Reader& reader, ReasonCode code, spool::StringId text) const;
  /// Nothing of interest happened: no GPU activity and no complaint.
  [[nodiscard]] bool is_empty() const;
};

/// Called with the offset in the file, now and then.
using OffsetProgress = std::function<void(std::uint64_t)>;

/// All throw Error(io) if the spool can no longer be read.
[[nodiscard]] ScannedSpool scan_definitions(const spool::Reader& reader, const OffsetProgress& progress);
/// Where no step of the agent's counts: those that the launches and ranges themselves show (recording/step_search.h).
/// After the definitions, before the launches.
void search_steps(const spool::Reader& reader, ScannedSpool& spool, bool by_ranges);
void scan_launches(const spool::Reader& reader, ScannedSpool& spool, const OffsetProgress& progress);
void scan_copies_and_counters(const spool::Reader& reader, ScannedSpool& spool,
                              const OffsetProgress& progress);

/// Visits every record of these types; reports progress and turns a failed read into Error(io).
void visit_records(const spool::Reader& reader, spool::RecordTypes types, const OffsetProgress& progress,
                   const std::function<void(const spool::RecordView&)>& visit);

}  // namespace ridgeline::import
