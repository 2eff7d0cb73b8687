// verb_rank.cpp: the kernels of a step by their saving.
#include <fmt/format.h>

#include <memory>

#include "ranks_answer.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_rank(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string by;
    std::string min_share = "0";
    bool stalls = false;
    bool ranks = false;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("rank", "Rank the kernels of a step or a range by what they could save");
  add_analysis_options(app, options->analysis);
  app.add_option("--by", options->by,
                 "What makes a row: kernel, kernel-grid, family, class, nvtx (NVTX range; op says the same), "
                 "phase (forward, backward, ...), layer or launch; several make one row per combination: "
                 "layer,phase (default kernel; of a range of time kernel-grid)")
      .type_name("KEYS");
  app.add_option("--min-share", options->min_share,
                 "Leave out rows of less than this share of the step, as 0.005 or 0.5% (default 0)")
      .type_name("RATIO");
  app.add_flag("--stalls", options->stalls,
               "Add stall reasons, hottest lines and instructions of the worst kernels (record --stalls)");
  app.add_flag(
      "--ranks", options->ranks,
      "Each kernel's time over the ranks of a job instead: median, worst, spread (as `ranks --by kernel`)");
  add_print_options(app, options->print);
  return {app, [app, options] {
            if (options->ranks) {
              answer_of_ranks(app, options->analysis.capture, reports::RanksView::kernel, options->print);
              return 0;
            }
            analyzer::AnalysisOptions analysis = analysis_options(options->analysis);
            if (!options->by.empty()) {
              analysis.ranking.key = analyzer::parse_ranking_keys(options->by).value();
              analysis.window_key = analysis.ranking.key;
            }
            answer(options->analysis.capture, analysis,
                   queries::RankingQuery{options->stalls, scope_of(options->analysis),
                                         parse_share("--min-share", options->min_share)},
                   options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
