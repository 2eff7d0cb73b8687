// project_file.h: ridgeline.toml, what a project says once; match.toml, which kernels are which; and the noise floor
// that `calibrate` stores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/comparison/comparison.h"

namespace ridgeline::experiment {

/// What ridgeline.toml says; docs/compare.md lists the keys. Empty: not said.
struct ProjectFile {
  std::string path;
  std::string build;                      ///< a command line for the shell
  std::vector<std::string> record;        ///< options of `record`
  std::vector<std::string> first_record;  ///< the same, of the first pair of runs
  std::optional<std::int64_t> pairs;
  std::string budget_time;  ///< "10min"
  std::optional<double> step_ratio, kernel_ratio, kernel_us, kernel_step_share, false_discovery_rate;
  std::optional<bool> strict;
  std::vector<std::string> fail_on;
  std::string match;  ///< path of a match.toml, from the project file's directory
  std::string noise;  ///< path of a noise floor, likewise
  std::vector<analyzer::KernelBudget> budgets;
};

/// Failure: usage, with file, line and what is wrong; unknown keys are wrong.
[[nodiscard]] Result<ProjectFile> parse_project(std::string_view text, const std::string& path);
/// The named file; without a name, ridgeline.toml of that directory if there is one.
[[nodiscard]] Result<ProjectFile> read_project(const std::string& path, const std::string& directory = ".");

/// [[rule]] kernel = "regex", becomes = "text with $1", path = "regex".
[[nodiscard]] Result<std::vector<comparison::MatchRule>> parse_rules(std::string_view text,
                                                                     const std::string& path);
[[nodiscard]] Result<std::vector<comparison::MatchRule>> read_rules(const std::string& path);

[[nodiscard]] std::string noise_text(const comparison::NoiseFloor& floor);
[[nodiscard]] Result<comparison::NoiseFloor> parse_noise(std::string_view text, const std::string& path);
[[nodiscard]] Result<comparison::NoiseFloor> read_noise(const std::string& path);

}  // namespace ridgeline::experiment
