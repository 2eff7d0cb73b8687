// verb_calibrate.cpp: how much two runs of identical code differ on this machine.
#include <fmt/format.h>

#include <memory>

#include "compare_options.h"
#include "output.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/experiment/measure.h"
#include "ridgeline/experiment/project_file.h"
#include "verb.h"

namespace ridgeline::cli {

Verb add_calibrate(Command program, const std::vector<std::string>& command) {
  struct Options {
    std::int64_t pairs = 10;
    std::string record;
    std::string recorder;
    std::string directory = "ridgeline-calibrate";
    std::string output = "noise.toml";
  };
  auto options = std::make_shared<Options>();
  const Command app = program.add_subcommand(
      "calibrate", "Measure the noise of identical code: ridgeline calibrate [OPTIONS] -- PROGRAM ARGS...");
  app.add_option("--pairs", options->pairs, "Pairs of runs (default 10)").whole_number(3).type_name("N");
  app.add_option("--record", options->record, "Options for `record`, in one word").type_name("OPTIONS");
  app.add_option("--recorder", options->recorder, "Command that records instead of this program")
      .type_name("COMMAND");
  app.add_option("--directory", options->directory,
                 "Where captures and logs go (default ridgeline-calibrate)")
      .type_name("DIR");
  app.add_option("-o,--output", options->output, "The noise floor (default noise.toml), for --noise")
      .type_name("FILE");
  return {
      app, [options, &command] {
        if (command.empty())
          throw Error(ErrorKind::usage,
                      "no program to record: ridgeline calibrate [OPTIONS] -- PROGRAM ARGS...");
        require_replaceable(options->output, store::KeptKind::noise_floor);  // before an hour of runs
        const auto tell = [](const std::string& line) { write_message("calibrate", line); };
        experiment::Interruption interruption(tell);
        experiment::MeasurePlan plan;
        plan.recording.recorder =
            options->recorder.empty() ? experiment::own_recorder() : split(options->recorder, ' ');
        plan.recording.options = split(options->record, ' ');
        plan.rounds = options->pairs;
        plan.look = false;
        plan.tell = tell;
        experiment::ExperimentDirectory directory(options->directory);
        const std::vector<experiment::Variant> variants = {{"a", "one", ".", command},
                                                           {"b", "two", ".", command}};
        const comparison::Comparison comparison =
            experiment::measure(variants, plan, directory, &interruption).value().comparisons.front();
        const comparison::NoiseFloor floor = comparison::noise_floor(comparison).value();
        write_file(options->output, reports::Document(experiment::noise_text(floor)),
                   store::KeptKind::noise_floor);
        std::string text = fmt::format("Identical code differs from run to run by {} of the step",
                                       percent_text(floor.step_ratio, 2));
        for (const auto& [kernel_class, ratio] : floor.class_ratio)
          text += fmt::format(", {} {}", percent_text(ratio, 2), to_string(kernel_class));
        text += fmt::format(" (standard deviation over {}).\n", counted(floor.pairs, "pair"));
        if (comparison.a.two_modes || comparison.b.two_modes)
          text +=
              "The runs fall into two modes: no number of pairs makes a verdict safe until that is mended.\n";
        write_standard_output(text + "Written to " + options->output + ".\n");
        return 0;
      }};
}

}  // namespace ridgeline::cli
