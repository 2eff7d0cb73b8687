// verb_check.cpp: does the step meet its targets? The exit code says it.
#include <memory>
#include <optional>

#include "budget.h"
#include "output.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_check(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string min_share = "0.005";
    std::string max_unmeasured = "0.10";
    std::optional<std::string> budget;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand("check",
                                             "Check the kernels of a step or a range against the "
                                             "targets: exit 0 met, 1 missed, 3 not enough data");
  add_analysis_options(app, options->analysis);
  app.add_option("--min-share", options->min_share,
                 "Judge kernels of at least this share of the step (default 0.005)")
      .type_name("RATIO");
  app.add_option("--max-unmeasured", options->max_unmeasured,
                 "Kernel time without a utilisation that is let pass (default 0.10)")
      .type_name("RATIO");
  app.add_option("--budget", options->budget,
                 "TOML file with [[budget]] for single kernels, as ridgeline.toml; docs/compare.md")
      .type_name("FILE");
  add_print_options(app, options->print);
  return {app, [options] {
            analyzer::AnalysisOptions analysis = analysis_options(options->analysis);
            analysis.targets.min_share = parse_share("--min-share", options->min_share);
            analysis.targets.max_unmeasured_share = parse_share("--max-unmeasured", options->max_unmeasured);
            if (options->budget) {
              Budgets read = read_budget(*options->budget).value();
              if (read.json)
                write_message("check",
                              *options->budget +
                                  ": budgets are [[budget]] in TOML now, with max_time_us; this JSON, with "
                                  "max_time_ns, is still read");
              analysis.targets.budgets = std::move(read.budgets);
            }
            const analyzer::Scope scope = scope_of(options->analysis);
            check_budget_scope(analysis.targets.budgets, scope).value();
            return answer(options->analysis.capture, analysis, queries::CheckQuery{scope}, options->print)
                .exit_code;
          }};
}

}  // namespace ridgeline::cli
