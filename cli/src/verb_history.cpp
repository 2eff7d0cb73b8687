// verb_history.cpp: results of many commits in one file: add, show, accept, merge.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "compare_options.h"
#include "output.h"
#include "ridgeline/base/units.h"
#include "ridgeline/comparison/history.h"
#include "ridgeline/queries/compare_query.h"
#include "ridgeline/reports/history_documents.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

struct HistoryOptions {
  std::string file;
  std::vector<std::string> captures;
  std::string policy, name;
  std::string commit, reason, series;
  std::string other;
  std::string html;
  std::int64_t kernels = 20;
  PrintOptions print;
};

comparison::History opened(const HistoryOptions& options, bool must_exist) {
  if (must_exist && !std::filesystem::exists(options.file))
    throw Error(ErrorKind::io, options.file + ": no such file: `ridgeline history add` makes one");
  return comparison::History::open(options.file).value();
}

int add(const HistoryOptions& options) {
  comparison::History history = opened(options, false);
  // All are read before the first is added: a capture that cannot be read leaves the history as it was.
  std::vector<comparison::RunProfile> runs;
  for (const std::string& capture : options.captures) runs.push_back(queries::profile_of(capture).value());
  const std::int64_t added = history.add(runs, {options.policy, options.name});
  write_standard_output(
      fmt::format("{} added, {} in {}.\n", counted(added, "run"), integer(history.runs()), options.file));
  return 0;
}

int show(const HistoryOptions& options) {
  const auto report = opened(options, true).report(static_cast<std::size_t>(options.kernels));
  if (report.series.empty()) throw Error(ErrorKind::no_data, options.file + ": no run in it");
  if (!options.html.empty()) write_file(options.html, reports::Document(reports::history_html(report)));
  print(options.print, reports::history_document(report, document_options(options.print)));
  return 0;
}

int accept(const HistoryOptions& options) {
  const auto done = opened(options, true).accept(options.commit, options.reason, options.series);
  if (!done) throw Error(done.failure().kind, done.failure().message);
  return 0;
}

int merge(const HistoryOptions& options) {
  comparison::History history = opened(options, false);
  const std::int64_t added = history.merge(options.other).value();
  write_standard_output(
      fmt::format("{} added, {} in {}.\n", counted(added, "run"), integer(history.runs()), options.file));
  return 0;
}

}  // namespace

Verb add_history(Command program) {
  auto options = std::make_shared<HistoryOptions>();
  const Command app =
      program.add_subcommand("history", "Results of many commits in one file: add, show, accept, merge");
  app.require_subcommand();
  const Command adding = app.add_subcommand("add", "Add captures: ridgeline history add FILE CAPTURES...");
  const Command showing = app.add_subcommand("show", "Series with the commits at which they changed");
  const Command accepting = app.add_subcommand("accept", "Say that the change at a commit is meant");
  const Command merging = app.add_subcommand("merge", "Add all runs of another history");
  for (const Command part : {adding, showing, accepting, merging})
    part.add_option("FILE", options->file, "The history, an SQLite file").required().type_name("");
  adding.add_option("CAPTURES", options->captures, "Captures (*.ridge)").required().type_name("");
  adding
      .add_option("--policy", options->policy,
                  "What the clocks were set to; runs of other policies are other series")
      .type_name("TEXT");
  adding
      .add_option("--name", options->name,
                  "What the program is called, where its command line differs from run to run; programs of "
                  "another name are other series")
      .type_name("TEXT");
  showing.add_option("--kernels", options->kernels, "Kernels with most time, beside the step (default 20)")
      .whole_number(0)
      .type_name("N");
  showing.add_option("--html", options->html, "Write a page with one line per series, too").type_name("FILE");
  add_print_options(showing, options->print);
  accepting.add_option("--commit", options->commit, "First commit behind the change, or its beginning")
      .required();
  accepting.add_option("--reason", options->reason, "Why it is meant; kept and shown").required();
  accepting.add_option("--series", options->series, "Of this series alone (default all)").type_name("NAME");
  merging.add_option("OTHER", options->other, "The other history").required().type_name("");
  return {app, [options, adding, showing, accepting] {
            if (adding.parsed()) return add(*options);
            if (showing.parsed()) return show(*options);
            if (accepting.parsed()) return accept(*options);
            return merge(*options);
          }};
}

}  // namespace ridgeline::cli
