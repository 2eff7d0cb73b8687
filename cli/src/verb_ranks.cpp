// verb_ranks.cpp: many ranks in one answer: who waits for whom and why, and what collectives cost.
#include <memory>

#include "output.h"
#include "ridgeline/queries/ranks_query.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

struct RanksArguments {
  std::string capture;
  std::string by = "rank";
  std::string alone;
  PrintOptions print;
};

int run_ranks(const RanksArguments& arguments) {
  queries::RanksQuery query;
  query.view = reports::parse_ranks_view(arguments.by).value();
  query.alone = arguments.alone;
  query.page = arguments.print.format == "html";
  PrintOptions how = arguments.print;
  if (query.page) how.format = "text";
  print(arguments.print,
        queries::ask_ranks(arguments.capture, query, document_options(how)).value().document);
  return 0;
}

}  // namespace

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
  add_print_options(app, arguments->print, true, {"html"});
  return {app, [arguments] { return run_ranks(*arguments); }};
}

}  // namespace ridgeline::cli
