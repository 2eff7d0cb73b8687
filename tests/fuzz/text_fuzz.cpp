// text_fuzz.cpp: what people and files hand over as text: budgets, project files, rules, comparisons, ladders,
// schedules, names of kernels.
#include "budget.h"
#include "comparison/made_ladder.h"
#include "comparison/made_runs.h"
#include "fuzz.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/match.h"
#include "ridgeline/comparison/profile.h"
#include "ridgeline/experiment/ladder.h"
#include "ridgeline/experiment/project_file.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/schedule.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/ladder_documents.h"
#include "ridgeline/store/kernel_identity.h"

namespace ridgeline::fuzz {
namespace {

void use_name(const std::string& input) {
  const store::KernelIdentity identity = store::identify_kernel(input);
  const std::string clean = clean_text(identity.demangled_name);
  for (const int columns : {1, 8, 44, 100}) {
    if (reports::display_width(reports::elide_kernel_name(clean, columns)) > columns && columns > 8)
      throw std::logic_error("wider than asked for");
  }
  (void)reports::elide_kernel_names({clean, input, clean + "x"}, 30);
  (void)reports::elide_paths({clean, input + " / a"}, 30);
  (void)reports::html_escape(input);
  (void)reports::csv_field(input);
  (void)reports::markdown_cell(input);
  (void)command_without_secrets(split(input, ' '));
  (void)bounded_text(input, 16);
  (void)comparison::folded_path(input);
}

// A file of rules; and its lines as a rule of their own, so that changed patterns reach the matcher, not only the
// parser.
void use_rules(const std::string& input) {
  using namespace comparison::testing;
  const std::vector<std::string> lines = split(input, '\n');
  std::vector<comparison::MatchRule> rules;
  if (const auto parsed = experiment::parse_rules(input, "match.toml")) rules = parsed.value();
  if (lines.size() >= 2) rules.push_back({lines[0], lines[1], lines.size() > 2 ? lines[2] : ""});
  const std::string tail = lines.empty() ? "" : lines.back();
  const std::vector<MadeKernel> a = {{"step / backward", "my_gemm_v1", 900, 1, "x"},
                                     {"step / layer 3", std::string(3000, 'a') + tail, 300, 2, "y"}};
  const std::vector<MadeKernel> b = {{"step / backward", "my_gemm_v2", 900, 1, "z"},
                                     {"step", tail, 300, 2, "w"}};
  (void)comparison::match_kernels(made({.kernels = a}), made({.kernels = b}), {.rules = rules});
}

constexpr reports::ReportFormat kFormats[] = {
    reports::ReportFormat::text,   reports::ReportFormat::markdown,       reports::ReportFormat::json,
    reports::ReportFormat::csv,    reports::ReportFormat::html,           reports::ReportFormat::junit,
    reports::ReportFormat::github, reports::ReportFormat::gitlab_metrics, reports::ReportFormat::bencher,
    reports::ReportFormat::comment};

void use_comparison(const std::string& input) {
  const auto comparison = reports::parse_comparison(input, "made.json");
  if (!comparison) return;
  for (const reports::ReportFormat format : kFormats)
    (void)reports::compare_document(comparison.value(), format).text();
}

void use_ladder(const std::string& input) {
  const auto file = experiment::parse_ladder_file(input, "ladder.toml");
  if (!file) return;
  (void)experiment::planned_ladder(file.value(), {});
}

void use_ladder_runs(const std::string& input) {
  const auto record = comparison::parse_ladder(input);
  if (!record) return;
  const auto result = comparison::analyse_ladder(record.value());
  if (!result) return;
  for (const reports::Format format :
       {reports::Format::text, reports::Format::json, reports::Format::csv, reports::Format::markdown})
    (void)reports::ladder_document(record.value(), result.value(), {.format = format}).text();
  (void)reports::ladder_html(record.value(), result.value());
}

std::string ladder_runs_seed() {
  const testing::MadeLadder made{.saved = {0.1, 0.02}, .needs = {0, 1}};
  comparison::LadderRecord record = testing::made_record(made);
  std::mt19937_64 random(1);
  testing::add_rounds(record, made, 3, random);
  record.rungs[1].choices = {{"64", {1e6, 2e6}}, {"128", {}}};
  record.rungs[1].chosen = 0;
  record.programs[0].kernels = {{"gemm", 12}};
  record.programs[1].kernels = {{"gelu", 1.5}};
  for (comparison::LadderRun& run : record.runs) run.loss = 3.25 + 0.01 * static_cast<double>(run.program);
  return comparison::ladder_text(record);
}

// Three kernels are enough to change every field of.
std::string comparison_seed() {
  using namespace comparison::testing;
  const std::vector<MadeKernel> a = {{"step / forward", "gemm", 900, 1, "x"}, {"step", "norm", 300, 2, "y"}};
  auto b = a;
  b[1].time_us *= 1.5;
  b.push_back({"step / backward", "added", 50, 1, "z"});
  comparison::ComparisonOptions options;
  options.budgets = {{.kernel = "norm", .max_time_ns = 1000.0, .reason = "why"}};
  const auto comparison = comparison::compare(made_side({.kernels = a, .noise = 0.002}, 3, 1),
                                              made_side({.kernels = b, .noise = 0.002}, 3, 9), options);
  return reports::compare_document(comparison.value(), reports::ReportFormat::json).text();
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  using fuzz::Random;
  return fuzz::main(
      argc, argv,
      {{"budget",
        {},
        [](const std::string& input, Random&) { (void)cli::parse_budget(input, "budget.json"); }},
       {"project",
        {},
        [](const std::string& input, Random&) {
          (void)experiment::parse_project(input, "ridgeline.toml");
          (void)experiment::parse_rules(input, "match.toml");
          (void)experiment::parse_noise(input, "noise.toml");
        }},
       {"rules", {}, [](const std::string& input, Random&) { fuzz::use_rules(input); }},
       {"schedule",
        {},
        [](const std::string& input, Random&) {
          (void)launch::read_schedule(input);
          (void)launch::parse_duration(input);
        }},
       {"comparison",
        {fuzz::comparison_seed()},
        [](const std::string& input, Random&) { fuzz::use_comparison(input); }},
       {"ladder", {}, [](const std::string& input, Random&) { fuzz::use_ladder(input); }},
       {"ladder_runs",
        {fuzz::ladder_runs_seed()},
        [](const std::string& input, Random&) { fuzz::use_ladder_runs(input); }},
       {"kernel_name", {}, [](const std::string& input, Random&) { fuzz::use_name(input); }}});
}
