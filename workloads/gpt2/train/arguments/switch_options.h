// switch_options.h: the trainer's switches on the command line, in its header line and in its JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// Adds one option a switch to `app` and, once it has parsed, settles what was not said.
/// Lifecycle: construct before app.parse -> parse -> settle().
class SwitchOptions {
 public:
  /// Both must outlive this. --preset is read from argv here, so that options given beside it win wherever
  /// they stand. Throws CLI::ParseError for a preset that does not exist.
  SwitchOptions(CLI::App& app, int argc, const char* const* argv, Switches& switches);

  /// A fast side that the rest of the command line rules out falls back to the next one (attention hopper in
  /// fp32 to own); one that was asked for by name throws InputError.
  void settle();

 private:
  bool given(const std::string& option) const { return app_.get_option(option)->count() > 0; }

  CLI::App& app_;
  Switches& switches_;
  std::string preset_;  // its value is in switches_ before the rest is parsed
};

/// Every switch as (option without dashes, value).
std::vector<std::pair<std::string, std::string>> switch_values(const Switches& switches);

/// The switches in which `switches` differs from the fast preset, as options; empty for the preset itself.
std::string differences_from_fast(const Switches& switches);

}  // namespace ridgeline::gpt2
