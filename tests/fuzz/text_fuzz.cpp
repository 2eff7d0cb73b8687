// text_fuzz.cpp: what people and files hand over as text: budgets, project files, schedules, names of kernels.
#include "budget.h"
#include "fuzz.h"
#include "project_file.h"
#include "ridgeline/analyzer/comparison_profile.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/schedule.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
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
  (void)analyzer::folded_path(input);
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
          (void)cli::parse_project(input, "ridgeline.toml");
          (void)cli::parse_rules(input, "match.toml");
          (void)cli::parse_noise(input, "noise.toml");
        }},
       {"schedule",
        {},
        [](const std::string& input, Random&) {
          (void)launch::read_schedule(input);
          (void)launch::parse_duration(input);
        }},
       {"kernel_name", {}, [](const std::string& input, Random&) { fuzz::use_name(input); }}});
}
