// ridgeline_generate: writes a made-up recording as a capture or as a spool directory.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "generate/generate.h"

int main(int argc, char** argv) {
  using namespace ridgeline::generate;
  Options options;
  std::string kind, output;
  CLI::App app("Writes a made-up recording, the same for the same options");
  app.add_option("KIND", kind, "capture or spool")->required()->check(CLI::IsMember({"capture", "spool"}));
  app.add_option("OUTPUT", output, "File of the capture, or directory for the spools")->required();
  const std::map<std::string, Shape> shapes = {{"after", Shape::after},       {"timeline", Shape::timeline},
                                               {"one-step", Shape::one_step}, {"pairs", Shape::pairs},
                                               {"eager", Shape::eager},       {"decode", Shape::decode}};
  app.add_option("--shape", options.shape, "after, timeline, one-step, pairs, eager or decode")
      ->transform(CLI::CheckedTransformer(shapes));
  app.add_option("--launches", options.launches, "Launches of each process")->check(CLI::PositiveNumber);
  app.add_option("--step-launches", options.launches_per_step, "Launches of a step")
      ->check(CLI::PositiveNumber);
  app.add_option("--processes", options.processes, "Processes")->check(CLI::Range(1, 1000));
  app.add_option("--replay", options.replay_steps, "Steps with counters")->check(CLI::NonNegativeNumber);
  app.add_option("--sample", options.sample_steps, "Steps with periodic samples")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--outliers", options.outlier_every, "Each n-th timeline step is slower")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--ranges", options.ranges, "An NVTX range a launch");
  app.add_flag("--annotations", options.annotations, "Declared work for each of these ranges");
  app.add_option("--seed", options.seed, "Seed of all that is random");
  CLI11_PARSE(app, argc, argv);
  try {
    if (kind == "spool") std::filesystem::create_directories(output);
    const auto sink = kind == "spool" ? make_spool_sink(output) : make_capture_sink(output);
    std::printf("%lld launches\n", static_cast<long long>(generate(options, *sink)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridgeline_generate: %s\n", error.what());
    return 1;
  }
  return 0;
}
