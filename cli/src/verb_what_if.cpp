// verb_what_if.cpp: what a step would gain if some of its work were done otherwise.
#include <memory>

#include "ridgeline/queries/what_if_query.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

struct WhatIfArguments {
  AnalysisArguments analysis;
  PrintOptions print;
  std::vector<std::string> faster, at_roof, fuse, fuse_kept, precision;
  bool graph = false;
  bool hide_copies = false;
};

// In this order each goes on from what those before it made: what is on the device first, then how it is launched.
analyzer::WhatIfRequest request_of(const WhatIfArguments& arguments) {
  analyzer::WhatIfRequest request;
  for (const std::string& text : arguments.precision)
    request.transforms.emplace_back(queries::parse_in_precision(text).value());
  for (const std::string& text : arguments.at_roof)
    request.transforms.emplace_back(queries::parse_at_roof(text).value());
  for (const std::string& text : arguments.faster)
    request.transforms.emplace_back(queries::parse_faster(text).value());
  for (const std::string& text : arguments.fuse)
    request.transforms.emplace_back(queries::parse_fused(text).value());
  for (const std::string& text : arguments.fuse_kept)
    request.transforms.emplace_back(queries::parse_fused(text, true).value());
  if (arguments.graph) request.transforms.emplace_back(analyzer::AsGraph{});
  if (arguments.hide_copies) request.transforms.emplace_back(analyzer::HiddenCopies{});
  return request;
}

}  // namespace

Verb add_what_if(Command program) {
  auto options = std::make_shared<WhatIfArguments>();
  const Command app = program.add_subcommand("what-if",
                                             "Say what a step would gain if kernels were faster, fused, in "
                                             "another precision, or launched as a graph");
  add_analysis_options(app, options->analysis);
  app.add_option("CHANGES", options->faster,
                 "Kernels and how much faster they are: 'attention*=1.5x'; * and ? stand for any text")
      .type_name("PATTERN=TIMES");
  app.add_option(
         "--at-roof", options->at_roof,
         "Every kernel reaches this share of its nearest roof: 85; or those of a pattern: 'layernorm*=85'")
      .one_value_each()
      .type_name("PERCENT");
  app.add_option("--fuse", options->fuse, "Where B follows A, one kernel does what both do")
      .one_value_each()
      .type_name("A,B");
  app.add_option("--fuse-kept", options->fuse_kept,
                 "The same where what A writes is needed later and is written all the same")
      .one_value_each()
      .type_name("A,B");
  app.add_option("--precision", options->precision,
                 "Kernels work on fp64, fp32, tf32, bf16, fp16, fp8 or int8: 'gemm*=bf16'")
      .one_value_each()
      .type_name("PATTERN=TYPE");
  app.add_flag("--graph", options->graph, "What is launched between two waits is launched as one graph");
  app.add_flag("--hide-copies", options->hide_copies,
               "Copies between host and device run beside everything else");
  add_print_options(app, options->print);
  return {app, [options] {
            answer(options->analysis.capture, analysis_options(options->analysis),
                   queries::WhatIfQuery{request_of(*options), scope_of(options->analysis)}, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
