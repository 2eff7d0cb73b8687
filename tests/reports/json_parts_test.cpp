// Parts that several JSON documents share, with what may be absent there and absent, held against
// tests/golden/tables/json-parts.txt.
#include "json_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/accepted_table.h"

namespace ridgeline::reports {
namespace {

std::string json_of(const JsonPart& part) {
  return part.value().dump();
}

std::string steps_as_json() {
  std::string table;
  analyzer::StepAnalysis steps;
  steps.process_id = 3;
  steps.spread = {
      .count = 5, .median_ns = 11, .p10_ns = 10, .p90_ns = 12, .mad_ns = 1, .min_ns = 9, .max_ns = 13};
  analyzer::RepresentativeStep& step = steps.representative;
  step.window_start_ns = 1000;
  step.window_end_ns = 1700;
  step.from_start_ns = 40;
  step.range = "forward\xff";
  step.launches = {1, 2, 5};
  step.summary.step_index = 7;
  step.summary.phase = Phase::sample;
  for (const auto& word : Vocabulary<analyzer::ScopeKind>::kWords) {
    for (const store::Id step_id : {0, 4}) {
      for (const std::int64_t cut : {0, 1}) {
        for (const bool whole : {false, true}) {
          step.scope = word.value;
          step.summary.step_id = step_id;
          step.cut_launches = cut;
          step.instances = 2 * cut;
          step.whole_recording = whole;
          table += fmt::format("step of a {}, id {}, cut {}, whole {}: {}\n", word.text, step_id, cut, whole,
                               json_of(step_json(steps)));
        }
      }
    }
  }
  return table;
}

std::string power_as_json() {
  analyzer::StepPower power;
  std::string table = "no power: " + json_of(power_json(power)) + "\n";
  power.clock.emplace();
  power.clock->reference_hz = 1.9e9;
  power.clock->clock_hz = 1.4e9;
  power.clock->cost_ns = 5e5;
  power.clock->low_ns = 4e5;
  power.clock->high_ns = 6e5;
  power.clock->covered_ns = 7e5;
  power.clock->steps = 8;
  table += "clock: " + json_of(power_json(power)) + "\n";
  power.energy.emplace();
  power.energy->covered_ratio = 0.75;
  power.energy->modelled_error_j = 0.5;
  power.energy->measured_s = 2;
  table += "energy, not modelled: " + json_of(power_json(power)) + "\n";
  power.clock.reset();
  power.energy->modelled_j = 30;
  power.energy->measured_j = 31;
  return table + "energy: " + json_of(power_json(power)) + "\n";
}

std::string totals_as_json() {
  analyzer::Ranking ranking;
  ranking.rows.resize(3);
  std::string table = "totals of nothing: " + json_of(ranking_totals_json(ranking)) + "\n";
  analyzer::RankingTotals& t = ranking.totals;
  t.step_ns = 100;
  t.calls = 2;
  t.time_ns = 90;
  t.measured_calls = 2;
  t.saved_target_ns = 20;
  t.saved_stretch_ns = 30;
  t.saved_target_share = 0.2;
  t.saved_stretch_share = 0.3;
  analyzer::StepReach& reach = ranking.reach.emplace();
  reach.why.emplace_back().cause = analyzer::AbsenceCause::no_timestamps;
  table += "reach unknown: " + json_of(ranking_totals_json(ranking)) + "\n";
  reach.measured_ns = 200;
  reach.simulated_ns = 201;
  reach.without_gpu_ns = 50;
  reach.target_ns = 20;
  reach.stretch_ns = 40;
  reach.launches = 12;
  reach.launches_with_call = 11;
  reach.streams_joined = 1;
  reach.why.clear();
  for (const bool order : {false, true}) {
    for (const std::int64_t dependencies : {0, 1}) {
      reach.order_recorded = order;
      reach.dependencies = dependencies;
      table += fmt::format("reach, order {}, dependencies {}: {}\n", order, dependencies,
                           json_of(ranking_totals_json(ranking)));
    }
  }
  reach.measured_ns = 0;
  return table + "reach of no time: " + json_of(ranking_totals_json(ranking)) + "\n";
}

std::string roofs_as_json() {
  analyzer::Roofline roofline;
  std::string table = "no roofs: " + json_of(roofline_json(roofline)) + "\n";
  roofline.dram.emplace();
  roofline.dram->quantity = Quantity::dram_bytes_per_s;
  roofline.dram->value = 4.8e12;
  roofline.l2 = roofline.dram;
  roofline.l2->fallback = true;
  roofline.compute = {*roofline.dram, *roofline.l2};
  roofline.step.time_ns = 70;
  roofline.step.covered_ns = 60;
  roofline.step.headroom_ns = 20;
  for (const double work : {0.0, 0.5, 3.0}) {
    analyzer::RoofTime time;
    time.roof = analyzer::Roof::kTensor;
    time.time_ns = 12;
    time.work = work;
    roofline.step.roofs.push_back(time);
  }
  table += "roofs, no times: " + json_of(roofline_json(roofline)) + "\n";
  roofline.step.sol_ns = 40;
  roofline.step.filled_ns = 41;
  roofline.step.intensity_flop_per_byte = 2.5;
  return table + "roofs: " + json_of(roofline_json(roofline)) + "\n";
}

std::string work_as_json() {
  std::string table = "nothing declared: " + json_of(declared_json({})) + "\n";
  analyzer::WorkSum sum;
  sum.ranges = 3;
  sum.launches = 4;
  sum.undeclared_launches = 1;
  sum.time_ns = 77;
  table += "declared: " + json_of(declared_json(sum)) + "\n";
  analyzer::Throughput throughput;
  table += "throughput unknown: " + json_of(throughput_json(throughput)) + "\n";
  throughput.declared_flops = 1e12;
  throughput.mfu = 0.4;
  throughput.hardware = 0.5;
  throughput.device_count = 2;
  throughput.size.tokens = 1024;
  throughput.tokens_per_s = 1e5;
  throughput.peak.emplace();
  return table + "throughput: " + json_of(throughput_json(throughput)) + "\n";
}

std::string captures_as_json() {
  analyzer::Model model;
  model.path = "a\xff.ridge";
  std::string table = "capture without a run: " + json_of(capture_json(model)) + "\n";
  model.run.emplace();
  model.run->command_line = "./train";
  model.run->clock = "cupti";
  model.devices.push_back({.id = 1, .device_index = 2, .name = "GPU"});
  model.versions["driver"] = "580";
  table += "bare run: " + json_of(capture_json(model)) + "\n";
  model.run->git_commit = "0123";
  model.run->git_dirty = false;
  model.run->host_name = "host";
  model.run->start_ns = 5;
  model.run->end_ns = 9;
  model.run->exit_status = 0;
  model.run->exit_signal = 11;
  model.devices.front().uuid = "GPU-1";
  model.devices.front().sm_count = 132;
  model.devices.front().memory_bytes = 80;
  table += "whole run: " + json_of(capture_json(model)) + "\n";
  analyzer::Accounting accounting;
  accounting.step_ns = 100;
  accounting.kernel_busy_ns = 80;
  table += "accounting: " + json_of(accounting_json(model, accounting)) + "\n";
  accounting.gap_synchronisation_ns = 4;
  accounting.gap_recording_ns = 6;
  return table + "accounting with waits: " + json_of(accounting_json(model, accounting)) + "\n";
}

TEST(AcceptedTable, PartsOfJsonDocuments) {
  ridgeline::testing::expect_accepted("json-parts.txt", steps_as_json() + power_as_json() + totals_as_json() +
                                                            roofs_as_json() + work_as_json() +
                                                            captures_as_json());
}

}  // namespace
}  // namespace ridgeline::reports
