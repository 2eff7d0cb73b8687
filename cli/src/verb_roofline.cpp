// verb_roofline.cpp: the kernels of a step under the roofs, as a table, data, a picture or a page.
#include <unistd.h>

#include <memory>

#include "output.h"
#include "png.h"
#include "verb.h"

namespace ridgeline::cli {

namespace {

using Form = queries::RooflineQuery::Form;

// Throws Error(usage) where what was asked for cannot be had together.
void require_printable(const PrintOptions& print, bool theme_given) {
  const bool to_standard_output = print.output.empty() || print.output == "-";
  if (print.format == "png" && to_standard_output && ::isatty(STDOUT_FILENO) == 1)
    throw Error(ErrorKind::usage, "a PNG is no text for a terminal: name a file with -o FILE.png");
  if (theme_given && print.format != "png" && print.format != "svg")
    throw Error(ErrorKind::usage, "--theme is of pictures: write one with -o FILE.png or FILE.svg");
}

}  // namespace

Verb add_roofline(Command program) {
  struct Options {
    AnalysisArguments analysis;
    PrintOptions print;
    std::string by;
    std::string match;
    bool time = false;
    std::string theme = "light";
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
  app.add_option("--theme", options->theme, "Colours of an SVG or PNG (default light)")
      .one_of({"light", "dark"});
  add_print_options(app, options->print, true, {"svg", "png", "html"});
  return {app, [options, app] {
            analyzer::AnalysisOptions analysis = analysis_options(options->analysis);
            if (!options->by.empty()) {
              analysis.ranking.key = analyzer::parse_ranking_keys(options->by).value();
              analysis.window_key = analysis.ranking.key;
            }
            PrintOptions& how = options->print;
            require_printable(how, app.option("--theme").given());
            const bool png = how.format == "png";
            queries::RooflineQuery query{
                Form::table, {options->match, options->time}, scope_of(options->analysis)};
            if (options->theme == "dark") query.shown.theme = reports::PictureTheme::dark;
            if (png || how.format == "svg") query.form = Form::svg;
            if (how.format == "html") query.form = Form::page;
            if (!png) {
              answer(options->analysis.capture, analysis, query, how);
              return 0;
            }
            const queries::DocumentAnswer drawn = queries::CaptureQueries(options->analysis.capture, analysis)
                                                      .ask(query, document_options(how))
                                                      .value();
            print(how, reports::Document(
                           png_of(drawn.document, how.output.empty() ? "standard output" : how.output)));
            return 0;
          }};
}

}  // namespace ridgeline::cli
