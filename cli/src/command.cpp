#include "command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace ridgeline::cli {
namespace {

// A script's variable that is not set, more often than a wish: `-o "$FILE"` would write somewhere else.
std::string empty_is_wrong(const std::string& text) {
  return text.empty() ? "the value is empty: give one, or leave the option out" : "";
}

}  // namespace

const DeclaredOption& DeclaredOption::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

const DeclaredOption& DeclaredOption::description(const std::string& text) const {
  option_->description(text);
  return *this;
}

const DeclaredOption& DeclaredOption::group(const std::string& name) const {
  option_->group(name);
  return *this;
}

const DeclaredOption& DeclaredOption::required() const {
  option_->required();
  return *this;
}

const DeclaredOption& DeclaredOption::whole_number(std::int64_t least) const {
  return check([least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && at == end && value >= least) return "";
    return fmt::format("'{}' is not a whole number of {} or more", text, least);
  });
}

const DeclaredOption& DeclaredOption::one_value_each() const {
  option_->allow_extra_args(false);
  return *this;
}

const DeclaredOption& DeclaredOption::range(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

const DeclaredOption& DeclaredOption::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

const DeclaredOption& DeclaredOption::check(
    std::function<std::string(const std::string& text)> problem) const {
  option_->check(
      CLI::Validator([problem = std::move(problem)](std::string& text) { return problem(text); }, ""));
  return *this;
}

bool DeclaredOption::given() const {
  return option_->count() > 0;
}

std::string DeclaredOption::name() const {
  return option_->get_name();
}

std::string DeclaredOption::group() const {
  return option_->get_group();
}

Command Command::add_subcommand(const std::string& name, const std::string& description) const {
  return Command(*app_->add_subcommand(name, description));
}

DeclaredOption Command::add_option(const std::string& name, std::string& value,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, value, description)).check(empty_is_wrong);
}

DeclaredOption Command::add_option(const std::string& name, std::optional<std::string>& value,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, value, description)).check(empty_is_wrong);
}

DeclaredOption Command::add_option(const std::string& name, std::vector<std::string>& values,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, values, description));
}

DeclaredOption Command::add_option(const std::string& name, std::int64_t& value,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, value, description));
}

DeclaredOption Command::add_option(const std::string& name, std::uint64_t& value,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, value, description));
}

DeclaredOption Command::add_option(const std::string& name, double& value,
                                   const std::string& description) const {
  return DeclaredOption(app_->add_option(name, value, description));
}

DeclaredOption Command::add_flag(const std::string& name, bool& value, const std::string& description) const {
  return DeclaredOption(app_->add_flag(name, value, description));
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}

void Command::when_parsed(std::function<void()> then) const {
  app_->final_callback(std::move(then));
}

void Command::require_subcommand() const {
  app_->require_subcommand(1);
}

void Command::pass_arguments_on() const {
  app_->prefix_command();
  app_->set_help_flag();
}

std::string Command::name() const {
  return app_->get_name();
}

bool Command::parsed() const {
  return app_->parsed();
}

std::vector<std::string> Command::remaining() const {
  return app_->remaining();
}

std::vector<DeclaredOption> Command::options() const {
  std::vector<DeclaredOption> declared;
  for (CLI::Option* option : app_->get_options()) declared.emplace_back(option);
  return declared;
}

DeclaredOption Command::option(const std::string& name) const {
  return DeclaredOption(app_->get_option(name));
}

}  // namespace ridgeline::cli
