#include "spool/stall_import.h"

#include <map>
#include <tuple>
#include <unordered_map>

#include "ridgeline/base/text.h"
#include "spool/spool_words.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

void write_stalls(const Reader& reader, const ScannedSpool& spool, ProcessRows& rows,
                  RecordedKernels& kernels, const OffsetProgress& progress) {
  const auto kernel_id = [&](std::uint32_t id) { return kernels.sampled(id, spool.code_hash(id, 0)); };
  using Key = std::tuple<std::uint32_t, std::uint32_t, StringId>;  // kernel, offset, reason
  std::map<Key, std::uint64_t> samples;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SourceLineRecord> lines;  // by kernel, offset
  std::vector<StallWindowRecord> windows;
  constexpr RecordTypes kTypes = {RecordType::stall_sample, RecordType::source_line,
                                  RecordType::stall_window};
  visit_records(reader, kTypes, progress, [&](const RecordView& view) {
    if (const auto* sample = view.as<StallSampleRecord>()) {
      samples[{sample->kernel_id, sample->pc_offset, sample->stall_reason}] += sample->samples;
    } else if (const auto* line = view.as<SourceLineRecord>()) {
      lines[{line->kernel_id, line->pc_offset}] = *line;
    } else if (const auto* window = view.as<StallWindowRecord>()) {
      windows.push_back(*window);
    }
  });

  for (const StallWindowRecord& window : windows) {
    store::StallWindow row;
    row.process_id = rows.process_id();
    row.device_id = rows.device_id(window.device_id);
    row.first_step_index = window.first_step;
    row.last_step_index = window.last_step;
    row.period_cycles = window.period_log2 < 63 ? std::int64_t{1} << window.period_log2 : 0;
    row.samples = static_cast<std::int64_t>(window.samples);
    row.dropped_samples = static_cast<std::int64_t>(window.dropped_samples);
    row.foreign_samples = static_cast<std::int64_t>(window.foreign_samples);
    row.status = is_known(window.status) ? window.status : WindowStatus::failed;
    if (window.reason != 0) row.reason = words_of(reader, ReasonCode::stalls, window.reason);
    rows.writer().add(row);
    if (window.dropped_samples > 0)
      rows.say(Severity::warning,
               Reason(ReasonCode::stall_samples_dropped,
                      {{"dropped", window.dropped_samples}, {"received", window.samples}}));
  }
  std::uint64_t nameless = 0, ambiguous = 0;
  for (const auto& [key, count] : samples) {
    const auto& [kernel, offset, reason] = key;
    const auto name = reader.string(reason);
    if (kernel == 0 || !name) {
      nameless += count;
      continue;
    }
    const auto id = kernel_id(kernel);
    if (!id) {
      ambiguous += count;
      continue;
    }
    rows.writer().add(store::StallSample{.kernel_id = *id,
                                         .pc_offset = offset,
                                         .stall_reason = one_line(*name),
                                         .samples = static_cast<std::int64_t>(count)});
  }
  if (nameless > 0)
    rows.say(Severity::warning, Reason(ReasonCode::stall_samples_nameless, {{"samples", nameless}}));
  if (ambiguous > 0)
    rows.say(Severity::warning, Reason(ReasonCode::stall_samples_ambiguous, {{"samples", ambiguous}}));
  for (const auto& [key, line] : lines) {
    const auto id = key.first != 0 ? kernel_id(key.first) : std::nullopt;
    if (!id) continue;
    store::SourceLine row;
    row.kernel_id = *id;
    row.pc_offset = key.second;
    if (const auto file = reader.string(line.file)) row.file_id = rows.writer().string_id(one_line(*file));
    if (line.line > 0) row.line = line.line;
    rows.writer().add(row);
  }
}

}  // namespace ridgeline::import
