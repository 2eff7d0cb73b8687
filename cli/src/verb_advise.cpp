// verb_advise.cpp: what to do first, what it would give, and how sure that is.
#include <fmt/format.h>

#include <memory>

#include "verb.h"

namespace ridgeline::cli {

namespace {

// Throws Error(usage) that lists the rules.
analyzer::AdviceRule parse_rule(const std::string& text) {
  if (const auto rule = parse_word<analyzer::AdviceRule>(text)) return *rule;
  std::string known;
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords)
    known += (known.empty() ? "" : ", ") + std::string(word.text);
  throw Error(ErrorKind::usage, fmt::format("--rule {}: no such rule: use one of {}", text, known));
}

}  // namespace

Verb add_advise(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string rule;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "advise", "Say what to do first in a step or a range, what it would give, and how sure that is");
  add_analysis_options(app, options->analysis);
  app.add_option("--rule", options->rule,
                 "The answer of one rule alone, whatever it is; docs/metrics.md lists them")
      .type_name("RULE");
  add_print_options(app, options->print);
  return {app, [options] {
            queries::AdviseQuery query{scope_of(options->analysis), {}};
            if (!options->rule.empty()) query.rule = parse_rule(options->rule);
            answer(options->analysis.capture, analysis_options(options->analysis), query, options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
