#include "json_parts.h"

#include "gap_text.h"
#include "json_values.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/check_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/finding_text.h"
#include "ridgeline/reports/headline_text.h"
#include "ridgeline/reports/reason_text.h"

namespace ridgeline::reports {

JsonPart capture_json(const analyzer::Model& model) {
  Json out = Json::object();
  out["path"] = valid_utf8(model.path);
  const bool run = model.run.has_value();
  const auto text = [&](const auto& value) { return value ? Json(valid_utf8(*value)) : Json(nullptr); };
  out["command_line"] = run ? Json(valid_utf8(model.run->command_line)) : Json(nullptr);
  out["git_commit"] = run ? text(model.run->git_commit) : Json(nullptr);
  out["git_dirty"] = run ? optional_json(model.run->git_dirty) : Json(nullptr);
  out["host_name"] = run ? text(model.run->host_name) : Json(nullptr);
  out["clock"] = run ? Json(valid_utf8(model.run->clock)) : Json(nullptr);
  out["start_ns"] = run ? optional_json(model.run->start_ns) : Json(nullptr);
  out["end_ns"] = run ? optional_json(model.run->end_ns) : Json(nullptr);
  out["exit_status"] = run ? optional_json(model.run->exit_status) : Json(nullptr);
  out["exit_signal"] = run ? optional_json(model.run->exit_signal) : Json(nullptr);
  Json devices = Json::array();
  for (const store::Device& device : model.devices) {
    devices.push_back({{"device_index", device.device_index},
                       {"name", valid_utf8(device.name)},
                       {"uuid", text(device.uuid)},
                       {"sm_count", optional_json(device.sm_count)},
                       {"memory_bytes", optional_json(device.memory_bytes)}});
  }
  out["devices"] = std::move(devices);
  Json versions = Json::object();
  for (const auto& [component, version] : model.versions)
    versions[valid_utf8(component)] = valid_utf8(version);
  out["versions"] = std::move(versions);
  return out;
}

JsonPart texts_json(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(valid_utf8(text));
  return out;
}

JsonPart headline_json(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  Json out = Json::array();
  for (const HeadlineWords& line : headline_words(model, analysis))
    out.push_back({{"kind", to_string(line.kind)}, {"text", valid_utf8(sentence_of(line))}});
  return out;
}

JsonPart step_json(const analyzer::StepAnalysis& steps) {
  const analyzer::RepresentativeStep& step = steps.representative;
  Json out = Json::object();
  out["whole_recording"] = step.whole_recording;
  const bool of_step =
      !step.whole_recording && (step.scope == analyzer::ScopeKind::step || step.summary.step_id != 0);
  out["step_index"] = of_step ? Json(step.summary.step_index) : Json(nullptr);
  out["phase"] = of_step ? Json(to_string(step.summary.phase)) : Json(nullptr);
  if (step.scope != analyzer::ScopeKind::step) {
    Json scope = {{"kind", to_string(step.scope)}, {"from_start_ns", step.from_start_ns}};
    if (step.scope == analyzer::ScopeKind::window || step.cut_launches > 0)
      scope["cut_launches"] = step.cut_launches;
    if (step.scope == analyzer::ScopeKind::range) {
      scope["range"] = valid_utf8(step.range);
      scope["instances"] = step.instances > 0 ? Json(step.instances) : Json(nullptr);
    }
    out["scope"] = std::move(scope);
  }
  out["process_id"] = steps.process_id;
  out["duration_ns"] = step.window_end_ns - step.window_start_ns;
  out["launches"] = step.launches.size();
  out["steps_considered"] = steps.spread.count;
  out["median_ns"] = steps.spread.median_ns;
  out["p10_ns"] = steps.spread.p10_ns;
  out["p90_ns"] = steps.spread.p90_ns;
  out["min_ns"] = steps.spread.min_ns;
  out["max_ns"] = steps.spread.max_ns;
  return out;
}

namespace {

Json peak_json(const analyzer::Peak& peak) {
  return {{"quantity", to_string(peak.quantity)},
          {"value", peak.value},
          {"source", to_string(peak.source)},
          {"fallback", peak.fallback},
          {"text", valid_utf8(peak_text(peak))}};
}

}  // namespace

JsonPart peaks_json(const analyzer::UtilisationAnalysis& utilisation) {
  Json out = Json::array();
  for (const analyzer::Peak& peak : utilisation.peaks) out.push_back(peak_json(peak));
  return out;
}

JsonPart roofline_json(const analyzer::Roofline& roofline) {
  const auto peak = [](const std::optional<analyzer::Peak>& roof) {
    return roof ? peak_json(*roof) : Json(nullptr);
  };
  Json compute = Json::array();
  for (const analyzer::Peak& each : roofline.compute) compute.push_back(peak_json(each));
  const analyzer::RooflinePoint& step = roofline.step;
  Json roofs = Json::array();
  for (const analyzer::RoofTime& time : step.roofs) {
    roofs.push_back({{"roof", to_string(time.roof)},
                     {"precision", to_string(time.roof.precision)},
                     {"time_ns", time.time_ns},
                     {"work", time.work > 0 ? Json(time.work) : Json(nullptr)},
                     {"source", to_string(time.source)}});
  }
  const auto if_known = [&](double value) { return step.sol_ns ? Json(value) : Json(nullptr); };
  return Json({{"source", to_string(roofline.source)},
               {"dram", peak(roofline.dram)},
               {"l2", peak(roofline.l2)},
               {"compute", compute},
               {"launch_floor_ns", roofline.launch_floor_ns},
               {"step_ns", roofline.step_ns},
               {"time_ns", step.time_ns},
               {"covered_ns", if_known(step.covered_ns)},
               {"sol_ns", optional_json(step.sol_ns)},
               {"filled_ns", optional_json(step.filled_ns)},
               {"headroom_ns", if_known(step.headroom_ns)},
               {"intensity_flop_per_byte", optional_json(step.intensity_flop_per_byte)},
               {"l2_intensity_flop_per_byte", optional_json(step.l2_intensity)},
               {"l1_intensity_flop_per_byte", optional_json(step.l1_intensity)},
               {"flops_per_s", optional_json(step.flops_per_s)},
               {"dram_bytes_per_s", optional_json(step.dram_bytes_per_s)},
               {"roofs", roofs}});
}

JsonPart throughput_json(const analyzer::Throughput& t) {
  return Json({{"declared_flops", optional_json(t.declared_flops)},
               {"declared_flops_per_s", optional_json(t.declared_flops_per_s)},
               {"mfu_ratio", optional_json(t.mfu)},
               {"tensor_ops", optional_json(t.tensor_ops)},
               {"tensor_ops_per_s", optional_json(t.tensor_ops_per_s)},
               {"tensor_ratio", optional_json(t.hardware)},
               {"devices", t.device_count},
               {"tokens", optional_json(t.size.tokens)},
               {"tokens_per_s", optional_json(t.tokens_per_s)},
               {"samples", optional_json(t.size.samples)},
               {"samples_per_s", optional_json(t.samples_per_s)},
               {"peak", t.peak ? peak_json(*t.peak) : Json(nullptr)}});
}

JsonPart power_json(const analyzer::StepPower& power) {
  Json clock = nullptr, energy = nullptr;
  if (const auto& c = power.clock) {
    clock = {{"reference_hz", c->reference_hz},
             {"sm_clock_hz", c->clock_hz},
             {"cost_ns", c->cost_ns},
             {"low_ns", c->low_ns},
             {"high_ns", c->high_ns},
             {"covered_ns", c->covered_ns},
             {"steps", c->steps},
             {"held_by", analyzer::throttle_words(c->throttle_reasons)}};
  }
  if (const auto& e = power.energy) {
    energy = {{"modelled_j", optional_json(e->modelled_j)},
              {"modelled_error_j", e->modelled_j ? Json(e->modelled_error_j) : Json(nullptr)},
              {"covered_ratio", e->covered_ratio},
              {"measured_j", optional_json(e->measured_j)},
              {"measured_s", e->measured_s}};
  }
  return Json({{"clock", clock}, {"energy", energy}});
}

JsonPart ranking_options_json(const analyzer::RankingOptions& options) {
  return Json(
      {{"by", to_string(options.key)}, {"target_ratio", options.target}, {"stretch_ratio", options.stretch}});
}

namespace {

// Where no launch was judged it is not known what there is to save.
Json if_judged(bool judged, double value) {
  return judged ? Json(value) : Json(nullptr);
}

Json reach_json(const std::optional<analyzer::StepReach>& reach, bool judged) {
  if (!reach) return nullptr;
  if (!reach->known()) {
    return {{"known", false},
            {"why", valid_utf8(absence_text(reach->why))},
            {"measured_ns", reach->measured_ns},
            {"simulated_ns", reach->simulated_ns}};
  }
  const auto step = static_cast<double>(reach->measured_ns);
  const auto share = [&](double ns) { return if_judged(judged, step > 0 ? ns / step : 0); };
  Json json = {{"known", true},
               {"measured_ns", reach->measured_ns},
               {"simulated_ns", reach->simulated_ns},
               {"without_gpu_ns", reach->without_gpu_ns},
               {"target_ns", if_judged(judged, reach->target_ns)},
               {"stretch_ns", if_judged(judged, reach->stretch_ns)},
               {"target_ratio", share(reach->target_ns)},
               {"stretch_ratio", share(reach->stretch_ns)},
               {"launches", reach->launches},
               {"launches_with_call", reach->launches_with_call},
               {"streams_joined", reach->streams_joined},
               {"other_processes", reach->other_processes},
               {"rows_left_out", reach->rows_left_out}};
  if (reach->order_recorded || reach->dependencies > 0) {
    json["order_recorded"] = reach->order_recorded;
    json["dependencies"] = reach->dependencies;
  }
  return json;
}

}  // namespace

JsonPart ranking_totals_json(const analyzer::Ranking& ranking) {
  const analyzer::RankingTotals& t = ranking.totals;
  const bool judged = t.measured_calls > 0;
  const auto known = [&](double value) { return if_judged(judged, value); };
  return Json({{"rows", ranking.rows.size()},
               {"step_ns", t.step_ns},
               {"calls", t.calls},
               {"time_ns", t.time_ns},
               {"saved_target_ns", known(t.saved_target_ns)},
               {"saved_stretch_ns", known(t.saved_stretch_ns)},
               {"saved_target_ratio", known(t.saved_target_share)},
               {"saved_stretch_ratio", known(t.saved_stretch_share)},
               {"reach", reach_json(ranking.reach, judged)},
               {"saved_target_exposed_ns", known(t.saved_target_exposed_ns)},
               {"memory_bound_time_ns", t.bounds.memory_ns},
               {"compute_bound_time_ns", t.bounds.compute_ns},
               {"latency_bound_time_ns", t.bounds.latency_ns},
               {"saved_target_latency_ns", known(t.saved_target_latency_ns)},
               {"saved_stretch_latency_ns", known(t.saved_stretch_latency_ns)},
               {"saved_target_sampled_ns", known(t.saved_target_sampled_ns)},
               {"saved_stretch_exposed_ns", known(t.saved_stretch_exposed_ns)},
               {"measured_time_ns", t.measured_time_ns},
               {"launch_bound_time_ns", t.too_short_time_ns},
               {"no_roof_time_ns", t.no_roof_time_ns},
               {"unmeasured_time_ns", t.unmeasured_time_ns},
               {"measured_calls", t.measured_calls},
               {"launch_bound_calls", t.too_short_calls},
               {"no_roof_calls", t.no_roof_calls},
               {"unmeasured_calls", t.unmeasured_calls},
               {"time_at_target_ratio", known(t.time_share_at_target)},
               {"time_at_stretch_ratio", known(t.time_share_at_stretch)}});
}

JsonPart declared_json(const std::optional<analyzer::WorkSum>& total) {
  if (!total) return Json(nullptr);
  return Json({{"ranges", total->ranges},
               {"launches", total->launches},
               {"undeclared_launches", total->undeclared_launches},
               {"time_ns", total->time_ns},
               {"declared_bytes", optional_json(total->declared_bytes)},
               {"measured_bytes", optional_json(total->measured_bytes)},
               {"bytes_ratio", optional_json(total->bytes_ratio)},
               {"declared_flops", optional_json(total->declared_flops)},
               {"measured_tensor_ops", optional_json(total->measured_tensor_ops)},
               {"measured_fp_ops", optional_json(total->measured_fp_ops)},
               {"minimum_ns", optional_json(total->minimum_ns)},
               {"minimum_ratio", optional_json(total->minimum_ratio)}});
}

JsonPart check_json(const analyzer::Ranking& ranking, const analyzer::TargetCheck& check) {
  Json unmatched = Json::array();
  for (const std::size_t i : check.unmatched_budgets)
    unmatched.push_back(valid_utf8(check.options.budgets[i].kernel));
  return Json({{"overall", to_string(check.overall)},
               {"exit_code", exit_code(check.overall)},
               {"text", valid_utf8(check_text(ranking, check))},
               {"target_ratio", check.options.target},
               {"stretch_ratio", check.options.stretch},
               {"min_share_ratio", check.options.min_share},
               {"max_unmeasured_ratio", check.options.max_unmeasured_share},
               {"stretch_count", check.stretch_count},
               {"met_count", check.met_count},
               {"missed_count", check.missed_count},
               {"below_min_share_count", check.below_min_share_count},
               {"launch_bound_count", check.too_short_count},
               {"no_roof_count", check.no_roof_count},
               {"not_measured_count", check.not_measured_count},
               {"time_at_target_ratio", check.time_share_at_target},
               {"time_at_stretch_ratio", check.time_share_at_stretch},
               {"missed_reached_ns", optional_json(check.missed_reached_ns)},
               {"unmatched_budgets", std::move(unmatched)}});
}

JsonPart accounting_json(const analyzer::Model& model, const analyzer::Accounting& a) {
  Json json({{"device_id", a.device_id},
             {"step_ns", a.step_ns},
             {"kernel_busy_ns", a.kernel_busy_ns},
             {"copy_exposed_ns", a.copy_exposed_ns},
             {"memset_exposed_ns", a.memset_exposed_ns},
             {"gap_launch_bound_ns", a.gap_launch_bound_ns},
             {"gap_host_bound_ns", a.gap_host_bound_ns},
             {"gap_queued_ns", a.gap_queued_ns},
             {"gap_unknown_ns", a.gap_unknown_ns},
             {"gap_tail_ns", a.gap_tail_ns},
             {"remainder_ns", a.remainder_ns},
             {"gap_total_ns", a.gap_total_ns},
             {"gap_synchronisation_ns", optional_json(a.gap_synchronisation_ns)},
             {"kernel_sum_ns", a.kernel_sum_ns},
             {"kernel_overlap_ns", a.kernel_overlap_ns},
             {"copy_sum_ns", a.copy_sum_ns},
             {"copy_hidden_ns", a.copy_hidden_ns},
             {"copy_bytes", a.copy_bytes},
             {"memset_sum_ns", a.memset_sum_ns},
             {"memset_bytes", a.memset_bytes},
             {"communication_sum_ns", a.communication_sum_ns},
             {"communication_exposed_ns", a.communication_exposed_ns},
             {"communication_hidden_ns", a.communication_hidden_ns},
             {"launches", a.launches},
             {"launches_without_time", a.launches_without_time},
             {"foreign_busy_ns", a.foreign_busy_ns},
             {"stream_count", a.stream_count},
             {"gap_count", a.gaps.size()},
             {"longest_gap", longest_gap_json(model, a).value()}});
  if (a.gap_recording_ns) json["gap_recording_ns"] = *a.gap_recording_ns;
  return json;
}

JsonPart findings_json(const analyzer::Findings& findings) {
  Json out = Json::array();
  for (const analyzer::Finding& finding : findings) {
    Json evidence = Json::array();
    for (const analyzer::Evidence& e : finding.evidence) {
      evidence.push_back({{"name", e.name},
                          {"value", e.value},
                          {"tier", e.tier ? Json(to_string(*e.tier)) : Json(nullptr)},
                          {"error", optional_json(e.error)}});
    }
    Json also = Json::array();
    for (const std::string& name : finding.also) also.push_back(valid_utf8(name));
    const analyzer::Subject& subject = finding.subject;
    out.push_back({{"severity", to_string(finding.severity)},
                   {"code", analyzer::code_word(finding)},
                   {"text", valid_utf8(finding_text(finding))},
                   {"subject", subject.name.empty() ? Json(nullptr) : Json(valid_utf8(subject.name))},
                   {"process_id", optional_json(subject.process_id)},
                   {"device_id", optional_json(subject.device_id)},
                   {"kernel_id", optional_json(subject.kernel_id)},
                   {"launch_id", optional_json(subject.launch_id)},
                   {"steps", subject.steps},
                   {"count", finding.count},
                   {"also", std::move(also)},
                   {"magnitude_ns", optional_json(finding.magnitude_ns)},
                   {"step_share_ratio", optional_json(finding.step_share)},
                   {"evidence", std::move(evidence)},
                   {"remedy", to_string(finding.remedy)}});
  }
  return out;
}

namespace {

Json clocks_json(const std::vector<analyzer::ClockSummary>& rows) {
  Json clocks = Json::array();
  for (const analyzer::ClockSummary& c : rows) {
    Json reasons = Json::array();
    for (const std::string& reason : c.throttle_reasons) reasons.push_back(valid_utf8(reason));
    clocks.push_back({{"device_id", c.device_id},
                      {"samples", c.samples},
                      {"sm_clock_min_hz", optional_json(c.sm_clock_min_hz)},
                      {"sm_clock_median_hz", optional_json(c.sm_clock_median_hz)},
                      {"sm_clock_max_hz", optional_json(c.sm_clock_max_hz)},
                      {"memory_clock_median_hz", optional_json(c.memory_clock_median_hz)},
                      {"power_median_w", optional_json(c.power_median_w)},
                      {"power_max_w", optional_json(c.power_max_w)},
                      {"temperature_max_c", optional_json(c.temperature_max_c)},
                      {"throttle_reasons", std::move(reasons)},
                      {"throttled_ratio", c.throttled_share}});
  }
  return clocks;
}

Json reach_json(const std::vector<analyzer::TierShare>& rows) {
  Json reach = Json::array();
  for (const analyzer::TierShare& r : rows) {
    reach.push_back({{"tier", to_string(r.tier)},
                     {"dram_coverage_ratio", r.dram_coverage},
                     {"compute_coverage_ratio", r.compute_coverage},
                     {"dram_mean_error_ratio", optional_json(r.dram_mean_error)},
                     {"concurrent_ratio", r.concurrent_share},
                     {"kind_ratio", r.kind_share},
                     {"launches", r.launches}});
  }
  return reach;
}

// What two tiers say of the same kernels.
Json comparisons_json(const std::vector<analyzer::TierComparison>& rows) {
  const auto measured = [](const analyzer::Measured& value) {
    return Json{{"value_ratio", value.value},
                {"error_ratio", optional_json(value.error)},
                {"sample_count", value.sample_count}};
  };
  Json out = Json::array();
  for (const analyzer::TierComparison& c : rows) {
    out.push_back({{"kernel", valid_utf8(c.kernel)},
                   {"calls", c.calls},
                   {"mean_ns", c.mean_ns},
                   {"t1", measured(c.t1)},
                   {"t2", measured(c.t2)},
                   {"difference_ratio", c.difference.value},
                   {"difference_error_ratio", optional_json(c.difference.error)},
                   {"flagged", c.flagged}});
  }
  return out;
}

}  // namespace

JsonPart quality_json(const analyzer::Quality& q) {
  Json tiers = Json::array();
  for (const analyzer::TierSummary& tier : q.tiers) {
    tiers.push_back({{"process_id", tier.process_id},
                     {"tier", to_string(tier.tier)},
                     {"status", to_string(tier.status)},
                     {"reason", valid_utf8(reason_text(tier.reason))}});
  }
  Json disagreements = Json::array();
  for (const analyzer::Disagreement& d : q.disagreements) {
    disagreements.push_back({{"kernel", valid_utf8(d.kernel)},
                             {"calls", d.calls},
                             {"timeline_ns", d.timeline_ns},
                             {"replay_ns", d.replay_ns},
                             {"difference_ratio", d.ratio}});
  }
  return Json({{"complete", q.complete},
               {"completeness_known", q.completeness_known},
               {"launches_seen", q.launches_seen},
               {"kernel_records", q.kernel_records},
               {"graph_kernel_records", q.graph_kernel_records},
               {"dropped_records", q.dropped_records},
               {"zero_timestamps", q.zero_timestamps},
               {"mismatched_steps", q.mismatched_steps},
               {"coverage_ratio", q.coverage},
               {"dram_coverage_ratio", q.dram_coverage},
               {"compute_coverage_ratio", q.compute_coverage},
               {"explained_launches_ratio", q.explained_share},
               {"tiers", std::move(tiers)},
               {"disagreements", std::move(disagreements)},
               {"reach", reach_json(q.reach)},
               {"comparison_limit_ratio", q.comparison_limit},
               {"comparison_floor_ns", q.comparison_floor_ns},
               {"comparisons", comparisons_json(q.comparisons)},
               {"tensor_comparisons", comparisons_json(q.tensor_comparisons)},
               {"clocks", clocks_json(q.clocks)},
               {"findings", findings_json(notices(q, Severity::info)).value()}});
}

}  // namespace ridgeline::reports
