// verb_ranks.cpp: many ranks in one answer: who waits for whom and why, and what collectives cost.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "output.h"
#include "ranks_answer.h"
#include "ridgeline/queries/job_what_if_query.h"
#include "ridgeline/queries/ranks_query.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

struct RanksArguments {
  std::string capture;
  std::string by = "rank";
  std::string alone;
  std::string ceilings;
  std::vector<std::string> what_if;
  PrintOptions print;
};

int run_job_what_if(const RanksArguments& arguments) {
  if (arguments.print.format == "html")
    throw Error(ErrorKind::usage, "--what-if has no page: leave --format html out");
  if (!arguments.ceilings.empty())
    throw Error(ErrorKind::usage, "--what-if goes by the links as the job used them: leave --ceilings out");
  print(arguments.print,
        queries::ask_job_what_if(arguments.capture, arguments.what_if, document_options(arguments.print))
            .value()
            .document);
  return 0;
}

int run_ranks(const RanksArguments& arguments) {
  if (!arguments.what_if.empty()) return run_job_what_if(arguments);
  queries::RanksQuery query;
  query.view = reports::parse_ranks_view(arguments.by).value();
  query.alone = arguments.alone;
  query.ceilings = arguments.ceilings;
  query.page = arguments.print.format == "html";
  PrintOptions how = arguments.print;
  if (query.page) how.format = "text";
  print(arguments.print,
        queries::ask_ranks(arguments.capture, query, document_options(how)).value().document);
  return 0;
}

}  // namespace

void answer_of_ranks(const Command& app, const std::string& capture, reports::RanksView view,
                     const PrintOptions& how) {
  constexpr std::string_view kBeside[] = {"CAPTURE", "--ranks", "--format",  "--columns", "--sort",
                                          "--top",   "--all",   "--verbose", "--output"};
  for (const DeclaredOption& option : app.options()) {
    if (option.given() &&
        std::find(std::begin(kBeside), std::end(kBeside), option.name()) == std::end(kBeside))
      throw Error(
          ErrorKind::usage,
          fmt::format("--ranks is of whole steps of all ranks: leave {} out, or ask the capture of one rank",
                      option.name()));
  }
  queries::RanksQuery query;
  query.view = view;
  print(how, queries::ask_ranks(capture, query, document_options(how)).value().document);
}

Verb add_ranks(Command program) {
  auto arguments = std::make_shared<RanksArguments>();
  const Command app = program.add_subcommand(
      "ranks", "Say of many ranks who waits for whom and why, and what their collectives cost");
  app.add_option("CAPTURE", arguments->capture,
                 "A job that `merge` has made, or a capture with several ranks")
      .required()
      .type_name("");
  app.add_option("--by", arguments->by,
                 "What makes a row: rank, step, collective, kernel or account (default rank)")
      .type_name("WORD");
  app.add_option("--alone", arguments->alone,
                 "Capture of the same program with one rank: what a step takes longer than that, by cause")
      .type_name("CAPTURE");
  app.add_option(
         "--ceilings", arguments->ceilings,
         "Hold collectives against the NVLink of this machine file of `ridgeline ceilings` (default: that "
         "of the captures)")
      .type_name("FILE");
  app.add_option(
         "--what-if", arguments->what_if,
         "Say what a step would take instead, once for each: overlap, links=2, bucket=25MB, no-skew, several "
         "with commas; buckets: a row of sizes")
      .one_value_each()
      .type_name("CHANGE");
  add_print_options(app, arguments->print, true, {"html"});
  return {app, [arguments] { return run_ranks(*arguments); }};
}

}  // namespace ridgeline::cli
