// verb_report.cpp: everything about one step in one file.
#include <fmt/format.h>

#include <memory>

#include "output.h"
#include "ridgeline/reports/format.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_report(CLI::App& program) {
  struct Options {
    AnalysisArguments analysis;
    std::string format = "html";
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "report", "Write a report: ranking, accounting, verdict, roofline, every launch");
  add_analysis_options(*app, options->analysis);
  app->add_option("--format", options->format, "What to write (default html)")
      ->check(CLI::IsMember({"html", "markdown", "json"}))
      ->type_name("FORMAT");
  app->add_option("-o,--output", options->output,
                  "File to write, - for the standard output (default report.html; markdown and json: -)")
      ->type_name("FILE");
  return {app, [options] {
            Analysed done = analyse(options->analysis.capture, analysis_options(options->analysis));
            if (options->format == "html" && !done.model.pm_windows.empty()) {
              done.model.sample_traces = analyzer::load_sample_traces(
                  open_capture(options->analysis.capture), done.model, reports::drawn_sample_metrics());
            }
            const std::string document =
                options->format == "html"       ? reports::html_report(done.model, done.analysis)
                : options->format == "markdown" ? reports::markdown_report(done.model, done.analysis)
                                                : reports::json_report(done.model, done.analysis);
            std::string output = options->output;
            if (output.empty()) output = options->format == "html" ? "report.html" : "-";
            if (output == "-") {
              write_standard_output(document);
            } else {
              write_file(output, document);
              write_standard_output(fmt::format("Wrote {} ({}).\n", output,
                                                reports::bytes_text(static_cast<double>(document.size()))));
            }
            return 0;
          }};
}

}  // namespace ridgeline::cli
