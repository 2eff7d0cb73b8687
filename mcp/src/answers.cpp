// answers.cpp: what the tools answer about one capture: our documents, with what an agent needs and no more.
#include <fmt/format.h>

#include <algorithm>

#include "answer_parts.h"
#include "ridgeline/analyzer/ranking/ranking_keys.h"
#include "tools.h"

namespace ridgeline::mcp {
namespace {

constexpr std::int64_t kDefaultRows = 20;
constexpr std::int64_t kSummaryRows = 5;

constexpr const char* kRankColumns =
    "rank,key,class,calls,time_ns,step_share_ratio,reached_target_ns,saved_target_ns,saved_target_error_ns,"
    "dram_utilisation_ratio,dram_utilisation_error_ratio,compute_utilisation_ratio,compute_utilisation_error_"
    "ratio,"
    "compute_pipe,limiter,limiter_utilisation_ratio,limiter_error_ratio,near_roofs,bound,tier";

constexpr const char* kOrder =
    "what the step would be shorter by if the row reached 70 % of its nearest roof, most first: not by time";

Json ranked_rows(const Json& document) {
  return short_names(document.value("rows", Json::array()), "key");
}

// Rows that the document's own --top left out.
void say_rows(Json& out, const Json& document) {
  const Json totals = document.value("totals", Json::object());
  out["rows_total"] = totals.value("rows", Json());
  out["sorted_by"] = kOrder;
}

Json explain_next(const CaptureFile& file, const Json& rows) {
  if (rows.empty()) return nullptr;
  return next_call("explain", {{"capture", file.handle()}, {"kernel", "1"}},
                   "what holds the kernel that could save most, and what to do");
}

Json short_totals(const Json& document) {
  const Json totals = document.value("totals", Json::object());
  Json out = picked(totals, {"calls", "time_ns", "saved_target_ns", "saved_target_ratio", "saved_stretch_ns",
                             "measured_time_ns", "unmeasured_time_ns", "memory_bound_time_ns",
                             "compute_bound_time_ns", "latency_bound_time_ns"});
  out["reach"] =
      picked(totals.value("reach", Json::object()), {"known", "target_ns", "target_ratio", "stretch_ns"});
  return out;
}

Json short_advice(const Json& document) {
  const Json advice = document.value("advice", Json::object());
  Json out = picked(advice, {"first", "least_ns", "together"});
  Json cases = Json::array();
  for (const Json& one : advice.value("cases", Json::array())) {
    cases.push_back(
        picked(one, {"rule", "subject", "action", "net", "basis", "launch_count", "evidence", "reference"}));
  }
  out["cases"] = short_names(std::move(cases), "subject");
  return out;
}

}  // namespace

Json answer_summary(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  const Json ranked =
      call.document(file, queries::RankingQuery{.scope = call.scope()}, kRankColumns, kSummaryRows);
  const Json steps = call.document(file, queries::StepsQuery{call.scope()}, "step_index", 1);
  Json out = about(file);
  const Json capture = ranked.value("capture", Json::object());
  out["program"] = capture.value("command_line", Json());
  Json devices = Json::array();
  for (const Json& device : capture.value("devices", Json::array()))
    devices.push_back(picked(device, {"name", "sm_count"}));
  out["devices"] = std::move(devices);
  out["step"] = short_step(ranked);
  out["what_to_do"] = short_advice(ranked);
  out["time"] = picked(steps.value("accounting", Json::object()),
                       {"step_ns", "kernel_busy_ns", "copy_exposed_ns", "memset_exposed_ns", "gap_total_ns",
                        "gap_launch_bound_ns", "gap_host_bound_ns", "gap_synchronisation_ns", "remainder_ns",
                        "communication_exposed_ns"});
  out["throughput"] = picked(ranked.value("throughput", Json::object()),
                             {"mfu_ratio", "tensor_ratio", "tokens_per_s", "samples_per_s"});
  out["clock"] = ranked.value("power", Json::object()).value("clock", Json());
  out["totals"] = short_totals(ranked);
  Json rows = ranked_rows(ranked);
  Json next = Json::array();
  if (Json explain = explain_next(file, rows); !explain.is_null()) next.push_back(std::move(explain));
  next.push_back(next_call("rank", {{"capture", file.handle()}}, "all kernels"));
  next.push_back(next_call("steps", {{"capture", file.handle()}}, "steps and gaps, if the GPU idles"));
  out["rows"] = std::move(rows);
  say_rows(out, ranked);
  out["quality"] = trust(ranked);
  out["next"] = std::move(next);
  return out;
}

Json answer_rank(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  const std::int64_t top = call.number("top", kDefaultRows);
  const std::string by = call.text("by");
  Json ranked;
  if (by.empty() || by == "kernel") {
    ranked = call.document(file, queries::RankingQuery{.scope = call.scope()}, kRankColumns, top);
  } else {
    // The session keeps a ranking by kernel: another one is asked for by itself.
    analyzer::AnalysisOptions options = agent_options();
    options.ranking.key = analyzer::parse_ranking_keys(by).value();
    options.window_key = options.ranking.key;
    reports::DocumentOptions how;
    how.format = reports::Format::json;
    how.columns = kRankColumns;
    how.top = top;
    analyzer::QueryOptions asked;
    asked.stop = call.stop;
    queries::CaptureQueries queries(file.path.string(), options);
    ranked = Json::parse(
        queries.ask(queries::RankingQuery{.scope = call.scope()}, how, asked).value().document.text());
  }
  Json out = about(file);
  out["step"] = short_step(ranked);
  Json rows = ranked_rows(ranked);
  Json next = Json::array();
  if (by.empty() || by == "kernel") {
    if (Json explain = explain_next(file, rows); !explain.is_null()) next.push_back(std::move(explain));
  } else {
    next.push_back(next_call("rank", {{"capture", file.handle()}}, "the kernels themselves"));
  }
  out["rows"] = std::move(rows);
  say_rows(out, ranked);
  out["totals"] = short_totals(ranked);
  out["quality"] = trust(ranked);
  out["next"] = std::move(next);
  return out;
}

Json answer_explain(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  const Json document = call.document(file, queries::ExplainQuery{call.text("kernel"), call.scope()});
  Json out = about(file);
  out["step"] = short_step(document);
  out["kernel"] = document.value("kernel", Json());
  out["holds"] = document.value("holds", Json());
  out["limits"] = document.value("limits", Json());
  out["what_to_do"] = short_advice(document);
  out["evidence"] = document.value("rows", Json());
  out["configurations"] = document.value("configurations", Json());
  out["spread"] = document.value("spread", Json());
  out["stalls"] = document.value("stalls", Json());
  out["quality"] = trust(document);
  const std::string place = std::to_string(document.value("kernel", Json::object()).value("rank", 1));
  out["next"] = {next_call("ncu_command", {{"capture", file.handle()}, {"kernel", place}},
                           "to look inside the kernel with Nsight Compute, run by whoever has the program"),
                 next_call("rank", {{"capture", file.handle()}, {"by", "nvtx"}},
                           "where in the program its launches are")};
  return out;
}

Json answer_steps(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  constexpr const char* kColumns =
      "step_index,representative,phase,status,gpu_duration_ns,host_duration_ns,kernel_time_ns,launches,"
      "reason";
  const Json document =
      call.document(file, queries::StepsQuery{call.scope()}, kColumns, call.number("top", kDefaultRows));
  Json out = about(file);
  out["step"] = short_step(document);
  out["phases"] = document.value("phases", Json());
  out["accounting"] = document.value("accounting", Json());
  const Json parts = document.value("kernel_time", Json::object());
  out["kernel_time_by_phase"] = parts.value("by_phase", Json());
  Json gaps = Json::array();
  for (const Json& gap : document.value("gaps", Json::array())) {
    if (gaps.size() == 5) break;
    gaps.push_back(picked(gap, {"duration_ns", "kind", "cause", "after_kernel", "before_kernel", "call"}));
  }
  out["longest_gaps"] = short_names(short_names(std::move(gaps), "after_kernel"), "before_kernel");
  out["gaps_total"] = document.value("gaps", Json::array()).size();
  out["rows"] = document.value("rows", Json());
  out["sorted_by"] = "time of the recording, first steps first";
  out["quality"] = trust(document);
  out["next"] = {next_call("summary", {{"capture", file.handle()}}, "what to do first")};
  return out;
}

Json answer_ncu_command(const Call& call) {
  const CaptureFile file = call.captures.find(call.text("capture"));
  const Json document = call.document(
      file, queries::NcuCommandQuery{call.text("kernel"), call.scope(), call.number("launches", 1)});
  Json out = about(file);
  out.update(document.value("ncu", Json::object()));
  out["next"] = Json::array();
  return out;
}

}  // namespace ridgeline::mcp
