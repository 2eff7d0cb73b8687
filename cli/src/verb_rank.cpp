// verb_rank.cpp: the kernels of a step by their saving.
#include <fmt/format.h>

#include <memory>

#include "verb.h"

namespace ridgeline::cli {

Verb add_rank(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string by;
    bool stalls = false;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "rank", "Rank the kernels of a step, a range or a window by what they could save");
  add_analysis_options(app, options->analysis);
  app.add_option("--by", options->by,
                 "What makes a row: kernel, kernel-grid, family, class, nvtx (NVTX range; op says the same), "
                 "phase (forward, backward, ...), layer or launch "
                 "(default kernel; of a stretch of time kernel-grid)")
      .type_name("KEY");
  app.add_flag("--stalls", options->stalls,
               "Add stall reasons, hottest lines and instructions of the worst kernels (record --stalls)");
  add_print_options(app, options->print);
  return {app, [options] {
            analyzer::AnalysisOptions analysis = analysis_options(options->analysis);
            if (!options->by.empty()) {
              analysis.rank.key = options->by == "op" ? analyzer::RankKey::nvtx_path
                                                      : analyzer::parse_rank_key(options->by).value();
              analysis.window_key = analysis.rank.key;
            }
            answer(options->analysis.capture, analysis,
                   queries::RankQuery{options->stalls, scope_of(options->analysis)}, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
