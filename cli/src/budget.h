// budget.h: reads the file of `check --budget`, which gives single kernels targets of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/ranking/targets.h"

namespace ridgeline::cli {

/// The format of before, which is still read. JSON: {"format": "ridgeline.budget", "version": 1, "kernels":
/// [{"kernel": "*layernorm*", "reason": "...", "min_utilisation_ratio": 0.5, "max_time_ns": 1e6,
/// "max_dram_bytes": 1e9}, ...]}; docs/cli.md. Failure usage: names the entry and what is wrong with it.
/// `name` is the file's, for messages.
[[nodiscard]] Result<std::vector<analyzer::KernelBudget>> parse_budget(std::string_view text,
                                                                       const std::string& name);

struct Budgets {
  std::vector<analyzer::KernelBudget> budgets;
  bool json = false;  // in the format of before
};
/// A TOML file with [[budget]], as ridgeline.toml has them, or JSON as above. Failures: io (cannot be read),
/// usage (no name, no budget, larger than any budget, and as above).
[[nodiscard]] Result<Budgets> read_budget(const std::string& path);

/// It names a time or bytes, which are of a step.
[[nodiscard]] bool is_of_a_step(const analyzer::KernelBudget& budget);
/// Times and bytes of budgets are of a step. Failure usage: there are some, and the scope is a window, or a range in
/// all steps, whose kernels are added up.
[[nodiscard]] Result<void> check_budget_scope(const std::vector<analyzer::KernelBudget>& budgets,
                                              const analyzer::Scope& scope);

}  // namespace ridgeline::cli
