// verb_ladder.cpp: what each of several changes to a program is worth, climbed one after the other.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "output.h"
#include "png.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/experiment/ladder.h"
#include "ridgeline/experiment/rounds.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/ladder_documents.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

using comparison::LadderRecord;
using comparison::LadderResult;

constexpr const char* kRunsFile = "runs.json";

struct LadderArguments {
  std::string file;
  std::string show;
  std::string directory = "ridgeline-ladder";
  std::string budget;
  std::int64_t rounds = 0;
  std::string only;
  std::vector<std::string> settings;
  bool cumulative = false;
  bool shapley = false;
  bool list = false;
  std::string record;
  std::string recorder;
  std::int64_t order_seed = 1;
  bool keep_trees = false;
  bool keep_captures = false;
  bool png = false;
  PrintOptions print;
};

void declare_ladder(const Command& app, LadderArguments& o) {
  app.add_option("LADDER", o.file, "What is climbed: a TOML file (docs/ladder.md)").type_name("");
  app.add_option("--budget", o.budget, "Go on until all is decided or that time is used (10m)")
      .type_name("TIME");
  app.add_option("--rounds", o.rounds, "Rounds at most (default: rounds of the file, else 10)")
      .whole_number(2)
      .type_name("N");
  app.add_option(
         "-o,--output", o.directory,
         "Folder of what is written: ladder.json, .csv, .svg, .html, the runs, captures, logs, checkouts "
         "(default ridgeline-ladder)")
      .type_name("DIR");
  app.add_option("--only", o.only, "These rungs, comma-separated, and what they need").type_name("RUNGS");
  app.add_option("--set", o.settings,
                 "Another value of a setting at the bottom, as batch=8; as often as wanted")
      .type_name("NAME=VALUE");
  app.add_flag("--cumulative", o.cumulative, "The climb alone, in a third of the time");
  app.add_flag("--shapley", o.shapley,
               "Also the mean over all orders of at most six rungs: 2^rungs programs");
  app.add_flag("--list", o.list, "Print what would run, and run nothing");
  app.add_option("--record", o.record, "Options for `record`, in one word (default: record of the file)")
      .type_name("OPTIONS");
  app.add_option("--recorder", o.recorder, "Command that records instead of this program")
      .type_name("COMMAND");
  app.add_option("--order-seed", o.order_seed, "Of the random order of each round (default 1)")
      .whole_number(0)
      .type_name("N");
  app.add_flag("--keep-trees", o.keep_trees, "Keep the checkouts");
  app.add_flag("--keep-captures", o.keep_captures, "Keep every capture, not only the first of each program");
  app.add_option(
         "--show", o.show,
         "Print the runs of an earlier ladder (runs.json), and measure nothing; with -o its documents are "
         "written anew")
      .type_name("FILE");
  app.add_flag("--png", o.png, "Also ladder.png, by rsvg-convert (librsvg2-bin)");
  add_table_options(app, o.print);
}

// The documents of the folder.
void write_documents(const std::string& directory, bool png, const LadderRecord& record,
                     const LadderResult& result) {
  const auto document = [&](reports::Format format) {
    reports::DocumentOptions options;
    options.format = format;
    return reports::ladder_document(record, result, options);
  };
  write_file(directory + "/ladder.json", document(reports::Format::json));
  write_file(directory + "/ladder.csv", document(reports::Format::csv));
  write_file(directory + "/ladder.svg", reports::Document(reports::ladder_svg(record, result, true)));
  write_file(directory + "/ladder.html", reports::Document(reports::ladder_html(record, result)));
  if (!png) return;
  const std::string picture = directory + "/ladder.png";
  write_file(picture, reports::Document(
                          png_of(reports::Document(reports::ladder_svg(record, result, true)), picture)));
}

int list_programs(const experiment::LadderFile& file, const comparison::LadderQuestions& questions) {
  const LadderRecord record = experiment::planned_ladder(file, questions).value();
  std::string out = fmt::format("{}: {} for {}\n", record.name,
                                counted(static_cast<std::int64_t>(record.programs.size()), "program"),
                                counted(static_cast<std::int64_t>(record.rungs.size()), "rung"));
  for (const auto& program : record.programs) out += program.command + "\n";
  std::string safe;
  for (const std::string& line : split(out, '\n'))
    safe += reports::log_line(reports::terminal_safe(line)) + "\n";
  write_standard_output(safe);
  return 0;
}

experiment::LadderFile ladder_file(const LadderArguments& o) {
  experiment::LadderFile file = experiment::read_ladder_file(o.file).value();
  for (const std::string& setting : o.settings) experiment::set_setting(file, setting).value();
  if (!o.only.empty()) experiment::keep_rungs(file, split(o.only, ',')).value();
  return file;
}

LadderRecord measured(const LadderArguments& o, const experiment::LadderFile& file,
                      const comparison::LadderQuestions& questions) {
  const auto tell = [](const std::string& line) { write_message("ladder", line); };
  experiment::Interruption interruption(tell);
  experiment::LadderPlan plan;
  plan.recorder = o.recorder.empty() ? experiment::own_recorder() : split(o.recorder, ' ');
  plan.record = split(o.record, ' ');
  plan.questions = questions;
  plan.rounds = o.rounds;
  if (!o.budget.empty()) plan.budget = launch::parse_duration(o.budget).value();
  plan.order_seed = o.order_seed;
  plan.keep_trees = o.keep_trees;
  plan.keep_captures = o.keep_captures;
  plan.tell = tell;
  experiment::ExperimentDirectory directory(o.directory);
  const std::string runs = directory.path() + "/" + kRunsFile;
  plan.keep = [&runs](const LadderRecord& record) {
    write_file(runs, reports::Document(comparison::ladder_text(record)));
  };
  return experiment::measure_ladder(file, plan, directory, &interruption).value();
}

// 3 where the climb has a gap, or too few rounds for a verdict.
int ladder_exit_code(const LadderRecord& record, const LadderResult& result) {
  for (std::size_t arm = 0; arm <= record.rungs.size(); ++arm) {
    if (result.arms[arm].rounds < record.options.min_rounds) return exit_code(ErrorKind::no_data);
  }
  return 0;
}

// Of runs that are shown, the documents are written where somebody asks for them.
void make_folder(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed || !std::filesystem::is_directory(directory))
    throw Error(ErrorKind::usage, directory + ": no folder can be made there: " + failed.message());
}

int run_ladder(const LadderArguments& o, bool folder_given) {
  if (o.file.empty() == o.show.empty())
    throw Error(ErrorKind::usage,
                "name a ladder to climb, or the runs of one with --show: ridgeline ladder LADDER.toml");
  // A ladder may take an hour: what is missing for its picture is said before.
  if (o.png) require_png_renderer("ladder.png");
  const comparison::LadderQuestions questions{!o.cumulative, !o.cumulative, o.shapley};
  LadderRecord record;
  if (!o.show.empty()) {
    record = comparison::read_ladder(o.show).value();
  } else {
    const experiment::LadderFile file = ladder_file(o);
    if (o.list) return list_programs(file, questions);
    record = measured(o, file, questions);
  }
  const LadderResult result = comparison::analyse_ladder(record).value();
  const bool written = o.show.empty() || folder_given;
  if (!o.show.empty() && written) make_folder(o.directory);
  if (o.png && !written)
    throw Error(ErrorKind::usage, "--png is a document of the folder: name one with -o DIR");
  if (written) write_documents(o.directory, o.png, record, result);
  print(o.print, reports::ladder_document(record, result, document_options(o.print)));
  if (written)
    write_message(
        "ladder",
        fmt::format("ladder.html, .svg, .csv{}{} are in {}", o.png ? ", .png" : "",
                    o.show.empty() ? fmt::format(", .json and {}", kRunsFile) : " and .json", o.directory));
  return ladder_exit_code(record, result);
}

}  // namespace

Verb add_ladder(Command program) {
  auto options = std::make_shared<LadderArguments>();
  const Command app = program.add_subcommand(
      "ladder", "What each of several changes to a program is worth: ridgeline ladder LADDER.toml [OPTIONS]");
  declare_ladder(app, *options);
  return {app, [options, app] { return run_ladder(*options, app.option("--output").given()); }};
}

}  // namespace ridgeline::cli
