// verb_import.cpp: makes the capture of a recording whose launcher did not live to make it.
#include <fmt/format.h>

#include <memory>

#include "output.h"
#include "progress.h"
#include "record_summary.h"
#include "ridgeline/base/units.h"
#include "ridgeline/import/importer.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_import(CLI::App& program) {
  struct Options {
    std::string spool;
    std::string output;
    bool force = false;
    bool quiet = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "import", "Make a capture of a spool directory that an interrupted recording left");
  app->add_option("SPOOL_DIR", options->spool, "The spool directory; it is left as it is")
      ->required()
      ->type_name("");
  app->add_option("-o,--output", options->output,
                  "Capture to write (default: the one the recording was started with)")
      ->type_name("FILE");
  app->add_flag("-f,--force", options->force, "Replace an existing capture");
  app->add_flag("-q,--quiet", options->quiet, "Print nothing but errors and warnings");
  return {app, [options] {
            std::string output = options->output;
            if (output.empty()) output = import::planned_output(options->spool);
            if (output.empty()) {
              throw Error(ErrorKind::usage,
                          fmt::format("{} does not say what the capture was to be called: give -o FILE",
                                      options->spool));
            }
            ProgressLine line;
            import::ImportOptions how;
            how.overwrite = options->force;
            if (!options->quiet) {
              how.progress = [&line](const import::ImportProgress& progress) {
                const double total = static_cast<double>(progress.total_bytes);
                const double share = total > 0 ? static_cast<double>(progress.done_bytes) / total : 0;
                line.show(fmt::format("ridgeline: making the capture, {}", percent_text(share, 0)));
              };
            }
            auto result = import::import_spools(options->spool, output, how);
            line.clear();
            const import::ImportSummary summary = std::move(result).value();
            for (const std::string& warning : summary.warnings)
              write_message("import", "warning: " + warning);
            if (!options->quiet) {
              write_standard_output("Imported " + options->spool + ".\n" +
                                    capture_summary(summary.capture_path, standard_output_style()));
            }
            return 0;
          }};
}

}  // namespace ridgeline::cli
