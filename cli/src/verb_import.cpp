// verb_import.cpp: makes the capture of a recording whose launcher did not live to make it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "output.h"
#include "progress.h"
#include "record_summary.h"
#include "ridgeline/base/units.h"
#include "ridgeline/import/importer.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/machine_ceilings.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_import(Command program) {
  struct Options {
    std::string spool;
    std::string output;
    bool force = false;
    bool quiet = false;
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "import", "Make a capture of a spool directory that an interrupted recording left");
  app.add_option("SPOOL_DIR", options->spool, "The spool directory; it is left as it is")
      .required()
      .type_name("");
  app.add_option("-o,--output", options->output,
                 "Capture to write (default: the one the recording was started with)")
      .type_name("FILE");
  app.add_flag("-f,--force", options->force, "Replace an existing capture");
  app.add_flag("-q,--quiet", options->quiet, "Print nothing but errors and warnings");
  return {
      app, [options] {
        import::check_spool_directory(options->spool).value();
        std::string output = options->output;
        if (output.empty()) {
          output = import::planned_output(options->spool);
          // The name is the spool's word, whoever made it.
          std::error_code ignored;
          if (options->force && std::filesystem::exists(output, ignored) && !store::is_capture_file(output)) {
            throw Error(ErrorKind::usage,
                        fmt::format("{} asks for {}, which is no capture and is not replaced: give -o FILE",
                                    options->spool, output));
          }
        }
        if (output.empty()) {
          throw Error(
              ErrorKind::usage,
              fmt::format("{} does not say what the capture was to be called: give -o FILE", options->spool));
        }
        ProgressLine line;
        import::ImportOptions how;
        how.overwrite = options->force;
        how.ceilings_directory = store::ceilings_directory();
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
        for (const Reason& warning : summary.warnings)
          write_message("import", "warning: " + reports::reason_text(warning));
        if (!options->quiet) {
          write_standard_output("Imported " + options->spool + ".\n" +
                                capture_summary(summary.capture_path, standard_output_style()));
        }
        return 0;
      }};
}

}  // namespace ridgeline::cli
