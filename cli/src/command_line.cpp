#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "help_text.h"
#include "output.h"
#include "ridgeline/base/error.h"
#include "ridgeline/reports/version.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

// What 1 means differs by verb; those that are not here never end with it.
std::string footer(std::string_view verb) {
  std::string_view one;
  if (verb == "check") one = "1 target or budget missed";
  if (verb == "report") one = "1 what --fail-on names";
  if (verb == "compare" || verb == "commits") one = "1 slower, or a budget missed";
  if (verb.empty()) one = "1 target missed, or slower";
  return fmt::format(
      "Exit codes: 0 fine; {}{}2 usage; 3 no or too little data, or not a capture; 4 environment; 5 "
      "internal.",
      one, one.empty() ? "" : "; ");
}

using AddVerb = Verb (*)(Command, const std::vector<std::string>&);

template <Verb (*add)(Command)>
Verb without_command(Command program, const std::vector<std::string>&) {
  return add(program);
}

struct NamedVerb {
  std::string_view name;
  AddVerb add;
};

// In the order of the help.
constexpr NamedVerb kVerbs[] = {{"record", add_record},
                                {"doctor", add_doctor},
                                {"info", without_command<add_info>},
                                {"rank", without_command<add_rank>},
                                {"check", without_command<add_check>},
                                {"advise", without_command<add_advise>},
                                {"explain", without_command<add_explain>},
                                {"ncu-command", without_command<add_ncu_command>},
                                {"steps", without_command<add_steps>},
                                {"merge", without_command<add_merge>},
                                {"ranks", without_command<add_ranks>},
                                {"roofline", without_command<add_roofline>},
                                {"what-if", without_command<add_what_if>},
                                {"interventions", without_command<add_interventions>},
                                {"report", without_command<add_report>},
                                {"compare", without_command<add_compare>},
                                {"commits", add_commits},
                                {"bisect", add_bisect},
                                {"calibrate", add_calibrate},
                                {"history", without_command<add_history>},
                                {"ladder", without_command<add_ladder>},
                                {"ceilings", without_command<add_ceilings>},
                                {"import", without_command<add_import>},
                                {"sql", without_command<add_sql>},
                                {"columns", without_command<add_columns>},
                                {"mcp", without_command<add_mcp>},
                                {"export", without_command<add_export>},
                                {"gui", without_command<add_gui>}};

bool is_verb(std::string_view word) {
  return std::any_of(std::begin(kVerbs), std::end(kVerbs),
                     [&](const NamedVerb& each) { return each.name == word; });
}

void print_help(const CLI::App& program) {
  write_standard_output(wrapped_help(program.help(), standard_output_style().columns));
}

// The parser lists what it does not know in its own order: the first option among it, else the first word.
std::string unexpected(const std::vector<std::string>& arguments, std::string_view what) {
  const auto named = [&](const std::string& argument) {
    const std::string words = fmt::format(" {} ", what);
    return words.find(fmt::format(" {} ", argument)) != std::string::npos;
  };
  const auto option = std::find_if(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument.starts_with("-") && (named(argument) || named(argument.substr(0, argument.find('='))));
  });
  if (option != arguments.end()) return fmt::format("no option '{}'", option->substr(0, option->find('=')));
  const auto word = std::find_if(arguments.rbegin(), arguments.rend(), named);
  return word == arguments.rend() ? std::string(what) : fmt::format("one argument too many: '{}'", *word);
}

int usage_error(const CLI::App& program, const CLI::ParseError& error,
                const std::vector<std::string>& arguments) {
  std::string verb;
  for (const CLI::App* sub : program.get_subcommands()) verb = sub->get_name();
  std::string what = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    what = unexpected(arguments, what);
  for (char& c : what) {
    if (c == '\n') c = ' ';
  }
  while (!what.empty() && (what.back() == ' ' || what.back() == '.')) what.pop_back();
  write_message(verb, fmt::format("{}: see ridgeline {}{}--help", what, verb, verb.empty() ? "" : " "));
  return exit_code(ErrorKind::usage);
}

int parsed_and_run(const std::vector<std::string>& arguments) {
  // What follows "--" is somebody else's command line: the parser never sees it.
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool separated = false;
  for (const std::string& argument : arguments) {
    if (!separated && argument == "--") {
      separated = true;
    } else {
      (separated ? command : own).push_back(argument);
    }
  }

  CLI::App parser(
      "Ridgeline: which GPU kernels of a training step to optimise, and how much time each could save.",
      "ridgeline");
  parser.set_version_flag("--version", std::string("ridgeline ") + reports::kVersion);
  parser.require_subcommand(1);
  parser.footer(footer(""));
  const Command program(parser);
  // Declaring the options of all takes longer than many a verb: those of the one that is named are enough.
  const bool named = !own.empty() && is_verb(own.front());
  const std::vector<Verb> verbs = add_verbs(program, command, named ? own.front() : "");

  std::string name;
  try {
    if (own.empty()) {
      print_help(parser);
      return separated ? exit_code(ErrorKind::usage) : 0;
    }
    // The parser's own words for these two name neither the culprit nor the choice.
    if (own.front().substr(0, 1) != "-" && !named) {
      std::string known;
      for (const NamedVerb& each : kVerbs) known += (known.empty() ? "" : ", ") + std::string(each.name);
      throw Error(ErrorKind::usage, fmt::format("no verb '{}': use one of {}", own.front(), known));
    }
    // Else a verb that follows says what it lacks, and nothing says this.
    const std::string first = own.front().substr(0, own.front().find('='));
    if (first.starts_with("-") && parser.get_option_no_throw(first) == nullptr) {
      const bool misplaced = std::any_of(own.begin() + 1, own.end(), is_verb);
      write_message("", fmt::format("unknown option '{}'{}: see ridgeline --help", first,
                                    misplaced ? " (a verb's options come after the verb)" : ""));
      return exit_code(ErrorKind::usage);
    }
    std::vector<std::string> reversed(own.rbegin(), own.rend());
    parser.parse(reversed);
    for (const Verb& verb : verbs) {
      if (!verb.app.parsed()) continue;
      name = verb.app.name();
      constexpr std::array<std::string_view, 5> kWithProgram = {"record", "doctor", "commits", "bisect",
                                                                "calibrate"};
      if (separated && std::find(kWithProgram.begin(), kWithProgram.end(), name) == kWithProgram.end()) {
        throw Error(ErrorKind::usage, "takes no program behind --");
      }
      return verb.action();
    }
    throw Error(ErrorKind::internal, "no verb was parsed");
  } catch (const CLI::CallForHelp&) {
    print_help(parser);  // of the verb, if one was given
    return 0;
  } catch (const CLI::CallForVersion&) {
    write_standard_output(fmt::format("ridgeline {}\n", reports::kVersion));
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(parser, error, own);
  } catch (const Error& error) {
    write_message(name, error.kind() == ErrorKind::internal ? error.what() : error.message());
    return exit_code(error.kind());
  }
}

}  // namespace

std::vector<Verb> add_verbs(Command program, const std::vector<std::string>& command, std::string_view only) {
  std::vector<Verb> verbs;
  for (const NamedVerb& each : kVerbs) {
    if (!only.empty() && only != each.name) continue;
    verbs.push_back(each.add(program, command));
    // Those two have more to say.
    if (each.name != "record" && each.name != "doctor") verbs.back().app.footer(footer(each.name));
  }
  return verbs;
}

int run_command_line(const std::vector<std::string>& arguments) {
  try {
    return parsed_and_run(arguments);
  } catch (const Error& error) {
    write_message("", error.message());
    return exit_code(error.kind());
  } catch (const std::filesystem::filesystem_error& error) {
    write_message("", error.path1().string() + ": " + error.code().message());
    return exit_code(ErrorKind::io);
  } catch (const std::bad_alloc&) {
    write_message("", "out of memory: the capture is larger than this machine can hold");
    return exit_code(ErrorKind::environment);
  } catch (const std::exception& error) {
    write_message("", std::string("internal error: ") + error.what());
    return exit_code(ErrorKind::internal);
  }
}

}  // namespace ridgeline::cli
