// ridgeline_generate: writes a made-up recording as a capture or as a spool directory.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "generate/generate.h"
#include "generate/rank_job.h"

int main(int argc, char** argv) {
  using namespace ridgeline::generate;
  Options options;
  RankJob job;
  std::string kind, output;
  CLI::App app("Writes a made-up recording, the same for the same options");
  app.add_option("KIND", kind, "capture, spool, or ranks: a capture for each rank of a job")
      ->required()
      ->check(CLI::IsMember({"capture", "spool", "ranks"}));
  app.add_option("OUTPUT", output, "File of the capture, or directory for the spools or ranks")->required();
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
  const std::map<std::string, RankCause> causes = {{"none", RankCause::none},
                                                   {"more-work", RankCause::more_work},
                                                   {"more-cycles", RankCause::more_cycles},
                                                   {"lower-clock", RankCause::lower_clock},
                                                   {"host-gaps", RankCause::host_gaps},
                                                   {"copies", RankCause::copies}};
  app.add_option("--ranks", job.ranks, "Ranks of the job")->check(CLI::Range(1, 10'000));
  app.add_option("--hosts-of", job.ranks_per_host, "Ranks of a host")->check(CLI::PositiveNumber);
  app.add_option("--rank-steps", job.steps, "Steps of the job")->check(CLI::PositiveNumber);
  app.add_option("--layers", job.layers, "Buckets of a step")->check(CLI::PositiveNumber);
  app.add_option("--bucket-bytes", job.bucket_bytes,
                 "A bucket closes at so many bytes of gradients; 0: with each layer")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--embedding-bytes", job.embedding_bytes,
                 "Of gradients that one kernel completes at the end")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--links", job.links, "Links are so many times as fast")->check(CLI::PositiveNumber);
  app.add_option("--sampled-steps", job.sampled_steps,
                 "Steps of the job behind those, with samples of its links");
  app.add_flag("--free-transfers", job.free_transfers, "Collectives end when the last rank is in them");
  app.add_option("--interference", job.interference, "Kernels take so many times as long beside collectives")
      ->check(CLI::Range(1.0, 10.0));
  app.add_option("--interference-of-collectives", job.interference_of_collectives,
                 "And collectives beside kernels")
      ->check(CLI::Range(1.0, 10.0));
  app.add_option("--cause", job.cause, "Why a rank is late")->transform(CLI::CheckedTransformer(causes));
  app.add_option("--straggler", job.straggler, "Which rank that is");
  app.add_option("--late-ns", job.late_ns, "By how much");
  app.add_flag("--rotating", job.rotating, "Another one in each step");
  app.add_option("--clock-offset", job.clock_offset_ns,
                 "Hosts' clocks are off by up to this many nanoseconds");
  app.add_option("--clock-drift", job.clock_drift_ppb, "And drift by up to this many parts in a billion");
  app.add_option("--lost", job.lost, "Ranks without a capture");
  CLI11_PARSE(app, argc, argv);
  try {
    if (kind != "capture") std::filesystem::create_directories(output);
    if (kind == "ranks") {
      job.seed = options.seed;
      std::printf("%zu captures\n", generate_rank_job(job, output).files.size());
      return 0;
    }
    const auto sink = kind == "spool" ? make_spool_sink(output) : make_capture_sink(output);
    std::printf("%lld launches\n", static_cast<long long>(generate(options, *sink)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridgeline_generate: %s\n", error.what());
    return 1;
  }
  return 0;
}
