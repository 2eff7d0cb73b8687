// command.h: subcommands and their options, as verbs declare them. The parser behind both is CLI11. Its headers take
// more time to compile than all else here, so that command.cpp and command_line.cpp alone include them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
}  // namespace CLI

namespace ridgeline::cli {

/// An option that was declared, or a positional argument. A handle: copies are of the same option, and it is valid as
/// long as the program's parser. What describes it can be chained.
class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option* option) : option_(option) {}

  /// What stands for the value in the help; "": nothing.
  const DeclaredOption& type_name(const std::string& name) const;
  const DeclaredOption& description(const std::string& text) const;
  /// Heading of the help under which it stands; "": it is hidden.
  const DeclaredOption& group(const std::string& name) const;
  const DeclaredOption& required() const;
  /// What the text must be: a whole number of at least `least`.
  const DeclaredOption& whole_number(std::int64_t least) const;
  /// Of several values one each time the option is named, so that arguments may follow it.
  const DeclaredOption& one_value_each() const;
  const DeclaredOption& range(int least, int most) const;
  const DeclaredOption& one_of(const std::vector<std::string>& values) const;
  /// `problem`: what is wrong with a text, "" for nothing.
  const DeclaredOption& check(std::function<std::string(const std::string& text)> problem) const;

  [[nodiscard]] bool given() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string group() const;

 private:
  CLI::Option* option_;
};

/// The program or a subcommand of it. A handle, as DeclaredOption is one.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& description) const;
  /// `name`: as "-o,--output", or "CAPTURE" for a positional argument. `value` outlives the parser.
  DeclaredOption add_option(const std::string& name, std::string& value,
                            const std::string& description) const;
  DeclaredOption add_option(const std::string& name, std::optional<std::string>& value,
                            const std::string& description) const;
  DeclaredOption add_option(const std::string& name, std::vector<std::string>& values,
                            const std::string& description) const;
  DeclaredOption add_option(const std::string& name, std::int64_t& value,
                            const std::string& description) const;
  DeclaredOption add_option(const std::string& name, std::uint64_t& value,
                            const std::string& description) const;
  DeclaredOption add_option(const std::string& name, double& value, const std::string& description) const;
  DeclaredOption add_flag(const std::string& name, bool& value, const std::string& description) const;
  /// Text after the options in the help.
  void footer(const std::string& text) const;
  void require_subcommand() const;
  /// Once all that was given is read, before the verb runs.
  void when_parsed(std::function<void()> then) const;
  /// Takes every argument as it is, --help too: remaining() has them.
  void pass_arguments_on() const;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool parsed() const;
  [[nodiscard]] std::vector<std::string> remaining() const;
  /// In the order of their declaration.
  [[nodiscard]] std::vector<DeclaredOption> options() const;
  /// `name`: as "--output"; one that was declared.
  [[nodiscard]] DeclaredOption option(const std::string& name) const;

 private:
  CLI::App* app_;
};

}  // namespace ridgeline::cli
