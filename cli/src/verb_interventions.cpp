// verb_interventions.cpp: what delays in front of launches did to the step, beside what its simulation says.
#include <memory>

#include "verb.h"

namespace ridgeline::cli {

Verb add_interventions(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand("interventions",
                                             "Say what delays in front of launches did to the step (record "
                                             "--intervene): slope, slack, and whether the "
                                             "simulation agrees");
  add_analysis_options(app, options->analysis);
  add_print_options(app, options->print);
  return {app, [options] {
            answer(options->analysis.capture, analysis_options(options->analysis),
                   queries::InterventionsQuery{scope_of(options->analysis)}, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
