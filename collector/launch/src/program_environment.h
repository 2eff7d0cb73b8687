// program_environment.h: what a recording says about where it was made.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::launch {

/// The variables that a GPU program's behaviour may depend on, out of NAME=value texts, and those whose names match
/// a pattern of `keep` (* stands for any text). Names that speak of secrets are left out, whoever asks for them; of
/// values secrets are replaced, and what `redact` says (variable_without_secrets()).
[[nodiscard]] std::map<std::string, std::string> relevant_environment(
    const std::vector<std::string>& environment, std::span<const std::string> keep = {},
    std::span<const std::string> redact = {});

/// This process's environment as NAME=value.
[[nodiscard]] std::vector<std::string> current_environment();

struct WorkingTree {
  std::optional<std::string> commit;  // nullopt: no repository, or no git
  std::optional<bool> dirty;          // tracked files differ from the commit
};
[[nodiscard]] WorkingTree working_tree(const std::string& directory);

[[nodiscard]] std::string host_name();
[[nodiscard]] std::string operating_system();  // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64"

}  // namespace ridgeline::launch
