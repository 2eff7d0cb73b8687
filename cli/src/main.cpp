// main.cpp: the program `ridgeline`. Parses, runs one verb, maps failures to exit codes: docs/cli.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
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

int run(int argc, char** argv) {
  // What follows "--" is somebody else's command line: the parser never sees it.
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool separated = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
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
  const std::vector<Verb> verbs = {add_record(program, command),
                                   add_doctor(program, command),
                                   add_info(program),
                                   add_rank(program),
                                   add_check(program),
                                   add_advise(program),
                                   add_explain(program),
                                   add_ncu_command(program),
                                   add_steps(program),
                                   add_merge(program),
                                   add_ranks(program),
                                   add_roofline(program),
                                   add_what_if(program),
                                   add_interventions(program),
                                   add_report(program),
                                   add_compare(program),
                                   add_commits(program, command),
                                   add_bisect(program, command),
                                   add_calibrate(program, command),
                                   add_history(program),
                                   add_ladder(program),
                                   add_ceilings(program),
                                   add_import(program),
                                   add_sql(program),
                                   add_columns(program),
                                   add_mcp(program),
                                   add_export(program),
                                   add_gui(program)};
  for (const Verb& verb : verbs) {
    const std::string name = verb.app.name();
    if (name != "record" && name != "doctor") verb.app.footer(footer(name));  // they have more to say
  }

  std::string name;
  try {
    if (own.empty()) {
      print_help(parser);
      return separated ? exit_code(ErrorKind::usage) : 0;
    }
    // The parser's own words for these two name neither the culprit nor the choice.
    const auto names_verb = [&](const Verb& verb) { return verb.app.name() == own.front(); };
    if (own.front().substr(0, 1) != "-" && std::none_of(verbs.begin(), verbs.end(), names_verb)) {
      std::string known;
      for (const Verb& verb : verbs) known += (known.empty() ? "" : ", ") + verb.app.name();
      throw Error(ErrorKind::usage, fmt::format("no verb '{}': use one of {}", own.front(), known));
    }
    // Else a verb that follows says what it lacks, and nothing says this.
    const std::string first = own.front().substr(0, own.front().find('='));
    if (first.starts_with("-") && parser.get_option_no_throw(first) == nullptr) {
      const bool misplaced = std::any_of(own.begin() + 1, own.end(), [&](const std::string& word) {
        return std::any_of(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.app.name() == word; });
      });
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
}  // namespace ridgeline::cli

int main(int argc, char** argv) {
  using ridgeline::ErrorKind;
  try {
    return ridgeline::cli::run(argc, argv);
  } catch (const ridgeline::Error& error) {
    ridgeline::cli::write_message("", error.message());
    return ridgeline::exit_code(error.kind());
  } catch (const std::filesystem::filesystem_error& error) {
    ridgeline::cli::write_message("", error.path1().string() + ": " + error.code().message());
    return ridgeline::exit_code(ErrorKind::io);
  } catch (const std::bad_alloc&) {
    ridgeline::cli::write_message("", "out of memory: the capture is larger than this machine can hold");
    return ridgeline::exit_code(ErrorKind::environment);
  } catch (const std::exception& error) {
    ridgeline::cli::write_message("", std::string("internal error: ") + error.what());
    return ridgeline::exit_code(ErrorKind::internal);
  }
}
