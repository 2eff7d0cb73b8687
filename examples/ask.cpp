// ask.cpp: a capture is asked through the public interface of the analyzer. Usage: ask CAPTURE
#include <array>
#include <cstdio>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/trace/timeline.h"

using namespace ridgeline;

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ask CAPTURE\n");
    return 2;
  }
  analyzer::Session session = analyzer::Session::open(argv[1]).value();

  // The kernels of the representative step, worst first.
  const auto ranking = session.ranking().value();
  std::printf("%zu kernels, %.3f ms of saving\n", ranking->rows.size(),
              ranking->totals.saved_target_ns / 1e6);

  // Each of them under its roofs. Nothing is read for this: the session remembers.
  const auto roofline = session.roofline().value();
  for (std::size_t i = 0; i < roofline->points.size() && i < 5; ++i) {
    const analyzer::RooflinePoint& point = roofline->points[i];
    std::printf("  %.60s: ", point.key.c_str());
    if (point.intensity_flop_per_byte) {
      std::printf("%.1f FLOP/byte, %.1f TFLOP/s (%s)\n", *point.intensity_flop_per_byte,
                  *point.flops_per_s / 1e12, std::string(to_string(point.operations)).c_str());
    } else {
      std::printf("%.2f TB/s, no operations known\n", point.dram_bytes_per_s.value_or(0) / 1e12);
    }
  }

  // One second of each stream, from the step's start, as a painter wants it: here in 20 characters.
  const auto timeline = analyzer::read_timeline(argv[1], {}).value();
  const std::int64_t start_ns = session.steps().value()->representative.window_start_ns;
  const analyzer::TimeWindow second{start_ns, start_ns + 1'000'000'000};
  for (const analyzer::TimelineRow& row : timeline->rows) {
    if (row.kind != analyzer::RowKind::kernels) continue;
    std::array<analyzer::EventBin, 20> bins;
    row.events.bins(second, bins);
    std::printf("%s: %lld kernels [", row.label.c_str(),
                static_cast<long long>(row.events.sum(second).count));
    for (const analyzer::EventBin& bin : bins) std::putchar(" .:-=+*#%@"[static_cast<int>(bin.busy * 9)]);
    std::printf("]\n");
  }

  // A question can be cancelled, here before it reads its first launch.
  std::stop_source stop;
  analyzer::QueryOptions ask{stop.get_token(), [&](const analyzer::Progress&) { stop.request_stop(); }};
  const auto cancelled =
      session.ranking({.steps = analyzer::StepSelection::one(0)}, analyzer::RankingKey::family, ask);
  std::printf("cancelled: %s\n", cancelled.ok() ? "no" : cancelled.failure().message.c_str());
  return cancelled.ok() ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
