#include "spool/intervention_import.h"

#include <map>
#include <vector>

#include "ridgeline/store/interventions.h"

namespace ridgeline::import {

namespace {

// Where the agent was not told the correlation id of its own launch: it is the next one after the program's, or one of
// the next if other threads launched meanwhile.
constexpr std::uint32_t kNearbyIds = 64;

using DelaysById = std::map<std::uint32_t, spool::DelayRecord>;

const spool::DelayRecord* delay_of(const DelaysById& delays, const spool::InterventionRecord& intervention) {
  if (intervention.delay_correlation_id != 0) {
    const auto exact = delays.find(intervention.delay_correlation_id);
    return exact == delays.end() ? nullptr : &exact->second;
  }
  const auto next = delays.upper_bound(intervention.launch_correlation_id);
  if (next == delays.end() || next->first - intervention.launch_correlation_id > kNearbyIds) return nullptr;
  return &next->second;
}

}  // namespace

void write_interventions(const spool::Reader& reader, const ScannedSpool& spool, ProcessRows& rows,
                         RecordedKernels& kernels) {
  DelaysById delays;
  std::vector<spool::InterventionRecord> made;
  visit_records(reader, {spool::RecordType::intervention, spool::RecordType::delay}, {},
                [&](const spool::RecordView& view) {
                  if (const auto* delay = view.as<spool::DelayRecord>()) {
                    delays[delay->correlation_id] = *delay;
                  } else if (const auto* intervention = view.as<spool::InterventionRecord>()) {
                    made.push_back(*intervention);
                  }
                });
  for (const spool::InterventionRecord& each : made) {
    const auto step = spool.steps.find(each.step_index);
    if (step == spool.steps.end() || step->second.id == 0) continue;
    store::Intervention row;
    row.process_id = rows.process_id();
    row.step_id = step->second.id;
    row.target = each.target;
    row.kernel_id = kernels.id_of(each.kernel_id, spool.code_hash(each.kernel_id, 0));
    row.ordinal = RecordedSteps::ordinal_in_step(step->second, each.step_ordinal);
    row.drawn = (each.header.flags & spool::kInterventionDrawn) != 0;
    row.level_ns = each.level_ns;
    row.seed = std::to_string(each.seed);
    const spool::DelayRecord* ran = delay_of(delays, each);
    if (ran != nullptr && (ran->header.flags & spool::kZeroTimestamp) == 0 && ran->start_ns > 0 &&
        ran->end_ns >= ran->start_ns) {
      row.start_ns = ran->start_ns;
      row.end_ns = ran->end_ns;
    }
    rows.writer().add(row);
    rows.row_written();
  }
}

}  // namespace ridgeline::import
