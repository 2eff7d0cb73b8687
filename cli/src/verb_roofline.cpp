// verb_roofline.cpp: the kernels of a step under the roofs, as a table, data, a picture or a page.
#include <memory>

#include "output.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

using Form = queries::RooflineQuery::Form;

bool ends_with_word(const std::string& file, std::string_view ending) {
  return file.size() > ending.size() && file.ends_with(ending);
}

// The file's name says what it is to hold, unless --format does.
Form form_of(PrintOptions& print, bool format_given) {
  if (print.format == "svg") return Form::svg;
  if (print.format == "html") return Form::page;
  if (format_given) return Form::table;
  if (ends_with_word(print.output, ".svg")) return Form::svg;
  if (ends_with_word(print.output, ".html") || ends_with_word(print.output, ".htm")) return Form::page;
  if (ends_with_word(print.output, ".png"))
    throw Error(ErrorKind::usage,
                print.output +
                    ": this program draws no PNG: write .svg, or export the roofline from the "
                    "desktop program (ridgeline gui)");
  if (ends_with_word(print.output, ".json")) print.format = "json";
  if (ends_with_word(print.output, ".csv")) print.format = "csv";
  if (ends_with_word(print.output, ".md")) print.format = "markdown";
  return Form::table;
}

}  // namespace

Verb add_roofline(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string by;
    std::string match;
    bool time = false;
  };
  auto options = std::make_shared<Options>();
  const Command app =
      program.add_subcommand("roofline",
                             "Show each kernel of a step, and the step, under the roofs of memory, caches "
                             "and arithmetic: table, picture, page or data");
  add_analysis_options(app, options->analysis);
  app.add_option("--by", options->by, "What makes a row, as in `rank` (default kernel)").type_name("KEYS");
  app.add_option("--match", options->match, "Kernels whose name holds this; * any text, ? one character")
      .type_name("PATTERN");
  app.add_flag("--time", options->time,
               "Times at each roof, memory against arithmetic, instead of operations over intensity");
  add_print_options(app, options->print, true, {"svg", "html"});
  app.option("--format").description("How to print (default: what the name of -o ends in, else text)");
  return {app, [options, app] {
            analyzer::AnalysisOptions analysis = analysis_options(options->analysis);
            if (!options->by.empty()) {
              analysis.ranking.key = analyzer::parse_ranking_keys(options->by).value();
              analysis.window_key = analysis.ranking.key;
            }
            const Form form = form_of(options->print, app.option("--format").given());
            answer(options->analysis.capture, analysis,
                   queries::RooflineQuery{form, {options->match, options->time}, scope_of(options->analysis)},
                   options->print);
            return 0;
          }};
}

}  // namespace ridgeline::cli
