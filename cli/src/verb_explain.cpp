// verb_explain.cpp: one kernel: what holds it, the evidence, what to do; and how Nsight Compute profiles it.
#include <memory>

#include "verb.h"

namespace ridgeline::cli {
namespace {

// A row is a kernel, whatever the scope; of each that was sampled the stalls are known.
analyzer::AnalysisOptions kernel_options(const AnalysisArguments& arguments) {
  constexpr std::size_t kEveryKernel = 100'000;
  analyzer::AnalysisOptions options = analysis_options(arguments);
  options.window_key = options.ranking.key;
  options.stalls.kernels = kEveryKernel;
  return options;
}

void add_kernel(Command app, std::string& kernel) {
  app.add_option("KERNEL", kernel,
                 "Its number in rank, its name, a pattern with * and ?, or a part of the name")
      .required()
      .type_name("");
}

}  // namespace

Verb add_explain(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string kernel;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "explain", "Explain one kernel: what holds it, on what evidence, and what to do about it");
  app.add_option("CAPTURE", options->analysis.capture, "Capture file (*.ridge)").required().type_name("");
  add_kernel(app, options->kernel);
  add_step_options(app, options->analysis);
  add_print_options(app, options->print);
  return {app, [options] {
            answer(options->analysis.capture, kernel_options(options->analysis),
                   queries::ExplainQuery{options->kernel, scope_of(options->analysis)}, options->print);
            return 0;
          }};
}

Verb add_ncu_command(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string kernel;
    std::int64_t launches = 1;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "ncu-command", "Print the command line with which Nsight Compute profiles one kernel of the step");
  app.add_option("CAPTURE", options->analysis.capture, "Capture file (*.ridge)").required().type_name("");
  add_kernel(app, options->kernel);
  app.add_option("--launches", options->launches, "Profile N launches, one after the other (default 1)")
      .whole_number(1)
      .type_name("N");
  add_step_options(app, options->analysis);
  add_print_options(app, options->print, false);
  return {app, [options] {
            answer(options->analysis.capture, kernel_options(options->analysis),
                   queries::NcuCommandQuery{options->kernel, scope_of(options->analysis), options->launches},
                   options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
