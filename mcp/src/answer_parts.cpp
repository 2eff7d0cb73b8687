#include "answer_parts.h"

#include "ridgeline/base/text.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::mcp {
namespace {

constexpr std::size_t kMaxNameBytes = 200;
constexpr std::size_t kMaxFindings = 8;

}  // namespace

Json about(const CaptureFile& file) {
  Json out = Json::object();
  out["capture"] = clean_text(file.handle());
  return out;
}

Json picked(const Json& object, std::initializer_list<const char*> keys) {
  Json out = Json::object();
  if (!object.is_object()) return out;
  for (const char* key : keys)
    if (const auto member = object.find(key); member != object.end()) out[key] = *member;
  return out;
}

Json short_step(const Json& document) {
  return picked(document.value("step", Json::object()),
                {"whole_recording", "step_index", "phase", "duration_ns", "launches", "steps_considered",
                 "p10_ns", "p90_ns"});
}

Json trust(const Json& document) {
  const Json quality = document.value("quality", Json::object());
  Json out = picked(quality, {"complete", "completeness_known", "dropped_records", "coverage_ratio",
                              "dram_coverage_ratio", "compute_coverage_ratio"});
  Json tiers = Json::array();
  for (const Json& tier : quality.value("reach", Json::array()))
    tiers.push_back(
        picked(tier, {"tier", "dram_coverage_ratio", "compute_coverage_ratio", "dram_mean_error_ratio"}));
  out["tiers"] = std::move(tiers);
  Json findings = Json::array();
  for (const Json& finding : quality.value("findings", Json::array())) {
    if (findings.size() == kMaxFindings) break;
    if (finding.value("severity", "") == "info") continue;
    findings.push_back(picked(finding, {"severity", "code", "text"}));
  }
  out["findings"] = std::move(findings);
  return out;
}

Json short_names(Json rows, const char* key) {
  for (Json& row : rows) {
    const auto name = row.find(key);
    if (name == row.end() || !name->is_string()) continue;
    *name = bounded_text(reports::kernel_display_name(name->get<std::string>()), kMaxNameBytes);
  }
  return rows;
}

Json next_call(std::string_view tool, Json arguments, std::string_view why) {
  Json out = Json::object();
  out["tool"] = tool;
  out["arguments"] = std::move(arguments);
  out["why"] = why;
  return out;
}

}  // namespace ridgeline::mcp
