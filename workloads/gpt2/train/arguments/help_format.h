// help_format.h: --help in 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ridgeline::gpt2 {

/// One option: its names and what its value is called on the left, description and default on the right,
/// wrapped.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
};

}  // namespace ridgeline::gpt2
