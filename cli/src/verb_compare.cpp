// verb_compare.cpp: what changed between two sides of one or more captures each.
#include <memory>

#include "compare_options.h"
#include "ridgeline/queries/compare_query.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_compare(Command program) {
  struct Options {
    std::vector<std::string> captures;
    std::vector<std::string> against;
    CompareArguments compare;
    RoofArguments roofs;
    ComparePrint print;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("compare",
                             "Compare captures: ridgeline compare A B, or several runs per side: compare A1 "
                             "A2 A3 --against B1 B2 B3. "
                             "Exit 0 no regression, 1 regression, 3 too little data, 4 not comparable");
  app.add_option("CAPTURES", options->captures, "A and B; with --against, the runs of A")
      .required()
      .type_name("");
  app.add_option("--against", options->against,
                 "The runs of B, in the order in which those of A were recorded")
      .type_name("CAPTURES");
  add_sides_options(app, options->compare);
  add_compare_options(app, options->compare);
  add_roof_options(app, options->roofs);
  add_compare_print(app, options->print);
  return {app, [options] {
            check_print(options->print);
            const auto [a, b] = sides_of(options->captures, options->against);
            const experiment::ProjectFile project =
                experiment::read_project(options->compare.project).value();
            const comparison::ComparisonOptions how = comparison_options(options->compare, project);
            const comparison::FailOn fail = fail_on(options->compare, project);
            analyzer::AnalysisOptions analysis;
            take_roofs(options->roofs, analysis);
            const auto comparison = queries::ask(queries::CompareQuery{a, b, how, analysis});
            print_comparison(options->print, comparison.value());
            return comparison::exit_code(comparison.value(), fail);
          }};
}

}  // namespace ridgeline::cli
