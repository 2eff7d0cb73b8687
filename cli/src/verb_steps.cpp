// verb_steps.cpp: what each step cost, and where the time of the representative one went.
#include <memory>

#include "ranks_answer.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_steps(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    bool ranks = false;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "steps", "List the steps and account for the time of one, or of a range: kernels, copies, gaps");
  add_analysis_options(app, options->analysis);
  app.add_flag(
      "--ranks", options->ranks,
      "Steps over all ranks of a job instead: exposed collectives, waits, who is late and why (as `ranks "
      "--by step`)");
  add_print_options(app, options->print);
  return {app, [app, options] {
            if (options->ranks) {
              answer_of_ranks(app, options->analysis.capture, reports::RanksView::step, options->print);
              return 0;
            }
            answer(options->analysis.capture, analysis_options(options->analysis),
                   queries::StepsQuery{scope_of(options->analysis)}, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
