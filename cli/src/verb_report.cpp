// verb_report.cpp: everything about one step in one file.
#include <fmt/format.h>

#include <memory>

#include "output.h"
#include "ridgeline/base/units.h"
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
            analyzer::Session session =
                open_session(options->analysis.capture, analysis_options(options->analysis));
            const bool html = options->format == "html";
            const auto all = analyzer::Session::kEverything;
            const auto done = answer_of(session.analysis({}, html ? all : all & ~analyzer::Session::kSamples),
                                        options->analysis.capture);
            const auto model = answer_of(session.model(), options->analysis.capture);
            const reports::Document document =
                html                            ? reports::Document(reports::html_report(*model, *done))
                : options->format == "markdown" ? reports::Document(reports::markdown_report(*model, *done))
                                                : reports::json_report(*model, *done);
            std::string output = options->output;
            if (output.empty()) output = options->format == "html" ? "report.html" : "-";
            if (output == "-") {
              write_standard_output(document);
            } else {
              const std::int64_t bytes = write_file(output, document);
              write_standard_output(
                  fmt::format("Wrote {} ({}).\n", output, bytes_text(static_cast<double>(bytes))));
            }
            return 0;
          }};
}

}  // namespace ridgeline::cli
