// What a run is reduced to, whole: of captures with and without steps, counters, graphs, ranks, copies, held against
// tests/golden/tables/profiles.txt; and copies and waits of made programs against a count of every microsecond.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "fabricated_capture.h"
#include "generate/generate.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/profile.h"
#include "ridgeline/store/capture_writer.h"
#include "support/accepted_table.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

std::string fact(double value) {
  return fmt::format("{:.7g}", value);
}
std::string fact(std::int64_t value) {
  return std::to_string(value);
}
std::string fact(int value) {
  return std::to_string(value);
}
std::string fact(bool value) {
  return value ? "yes" : "no";
}
template <typename T>
std::string fact(const std::optional<T>& value) {
  return value ? fact(*value) : "none";
}
std::string fact(const store::Dim3& value) {
  return fmt::format("{}x{}x{}", value.x, value.y, value.z);
}

std::string site_text(const KernelSite& site) {
  std::string text = fmt::format(
      "  site [{}] {} | {} | {} code {} stream {} calls {} time {} deviation {} cycles {} bytes {} "
      "dram {} compute {} bound {}",
      site.path, site.kernel.substr(0, 60), site.family.substr(0, 60), to_string(site.kernel_class),
      site.code, site.stream, fact(site.calls), fact(site.time_ns), fact(site.time_deviation_ns),
      fact(site.cycles), fact(site.dram_bytes), fact(site.dram_ratio), fact(site.compute_ratio),
      to_string(site.bound));
  if (site.shape)
    text += fmt::format(
        " grid {} block {} cluster {} registers {} smem {}/{}", fact(site.shape->grid),
        fact(site.shape->block), site.shape->cluster ? fact(*site.shape->cluster) : std::string("none"),
        site.shape->registers_per_thread, site.shape->static_smem_bytes, site.shape->dynamic_smem_bytes);
  for (const auto& [name, count] : site.counts) text += fmt::format(" {}={}", name, fact(count));
  return text + "\n";
}

std::string parts_text(const StepParts& p) {
  return fmt::format(
      "  parts overlap {} copies {}/{} memsets {} communication {}/{} gaps {} {} {} {} {} cpu {} wait {}\n",
      fact(p.overlap_ns), fact(p.copy_exposed_ns), fact(p.copy_hidden_ns), fact(p.memset_exposed_ns),
      fact(p.communication_exposed_ns), fact(p.communication_hidden_ns), fact(p.gap_launch_bound_ns),
      fact(p.gap_host_bound_ns), fact(p.gap_synchronisation_ns), fact(p.gap_queued_ns), fact(p.gap_other_ns),
      fact(p.cpu_ns), fact(p.wait_ns));
}

std::string profile_text(const RunProfile& run) {
  const analyzer::StepSpread& s = run.step;
  std::string text = fmt::format(
      "  command {} commit {} dirty {} host {} start {} clock {} power {} temperature {} throttled {} roof "
      "{} "
      "processes {}\n  steps {} median {} p10 {} p90 {} mad {} min {} max {} whole {} kernels {} busy {} "
      "gaps {} "
      "launches {}\n",
      run.command_line, run.git_commit, fact(run.git_dirty), run.host_name, fact(run.start_ns),
      fact(run.sm_clock_hz), fact(run.power_w), fact(run.temperature_c), fact(run.throttled_share),
      run.dram_roof, run.processes, s.count, fact(s.median_ns), fact(s.p10_ns), fact(s.p90_ns),
      fact(s.mad_ns), fact(s.min_ns), fact(s.max_ns), run.whole_recording, fact(run.kernel_ns),
      fact(run.busy_ns), fact(run.gap_ns), fact(run.launches()));
  for (const DeviceFacts& device : run.devices)
    text += fmt::format("  device {} {} {}\n", device.name, device.uuid, device.sm_count);
  for (const std::string& reason : run.throttle_reasons) text += "  throttled by " + reason + "\n";
  text += parts_text(run.parts);
  for (const KernelSite& site : run.sites) text += site_text(site);
  for (const TransferSite& site : run.transfers)
    text += fmt::format("  {} {} [{}] calls {} bytes {} time {} exposed {}\n", to_string(site.kind),
                        to_string(site.direction), site.path, fact(site.calls), fact(site.bytes),
                        fact(site.time_ns), fact(site.exposed_ns));
  text += "  order";
  for (std::size_t i = 0; i < std::min<std::size_t>(run.order.size(), 60); ++i)
    text += fmt::format(" {}", run.order[i]);
  return text + "\n";
}

std::string observation_text(const LadderObservation& observed) {
  const LadderRun& run = observed.run;
  std::string text = fmt::format(
      "  observed step {} steps {} discarded {} settled {} clock {} power {} joules {} memory {} launches {} "
      "device {}",
      fact(run.step_ns), run.steps, run.discarded, run.settled, fact(run.sm_clock_hz), fact(run.power_w),
      fact(run.joules_per_step), fact(run.peak_memory_bytes), fact(run.launches), run.device);
  for (const auto& [name, calls] : observed.kernels) text += fmt::format(" {}={}", name.substr(0, 40), calls);
  return text + "\n";
}

std::string whole_text(const std::string& what, const std::string& path) {
  std::string text = what + "\n";
  const auto profile = profile_run(path);
  text += profile ? profile_text(profile.value()) : "  " + profile.failure().message + "\n";
  const auto observed = observe_capture(path);
  return text + (observed ? observation_text(observed.value()) : "  " + observed.failure().message + "\n");
}

struct ProgramTransfer {
  std::string path;
  TransferKind kind = TransferKind::copy;
  CopyKind direction = CopyKind::unknown;
  int device = 0;
  std::int64_t from_us = 0, to_us = 0, bytes = 0;
};

struct ProgramKernel {
  int device = 0, process = 0;
  std::int64_t thread = 0, from_us = 0, to_us = 0;
};

struct ProgramWait {
  std::int64_t thread = 0, from_us = 0, length_us = 0;
};

// A program of equal steps of 1 ms: kernels on two streams of two devices, copies and memsets beside them, two threads
// that wait, and a second process on the first device, which is none of the step's.
struct ProgramOfSteps {
  static constexpr std::int64_t kStepUs = 1000, kSteps = 5, kStartNs = 1'000'000'000;
  std::vector<ProgramKernel> kernels;
  std::vector<ProgramTransfer> transfers;
  std::vector<ProgramWait> waits;
  std::int64_t host_us = 700;

  explicit ProgramOfSteps(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (int stream = 0; stream < 3; ++stream) {  // in order of time on each
      for (std::int64_t at = below(40); at < 760;) {
        const std::int64_t length = 5 + below(60);
        kernels.push_back({stream == 2 ? 1 : 0, 0,
                           stream == 1 && seed % 2 == 0 ? 70 : 60 + 10 * (below(4) / 3), at, at + length});
        at += length + below(50);
      }
    }
    for (std::int64_t at = 20; at < 700; at += 90) kernels.push_back({0, 1, 80, at, at + 30});
    const char* paths[] = {"step / forward", "step / layer 3 / mlp", ""};
    for (std::int64_t at = below(20); at < 900;) {
      const std::int64_t length = below(80);
      const bool copy = below(3) > 0;
      transfers.push_back({paths[below(3)], copy ? TransferKind::copy : TransferKind::memset,
                           copy ? static_cast<CopyKind>(1 + below(4)) : CopyKind::unknown,
                           static_cast<int>(below(4) / 3), at, at + length, 100 * below(50)});
      at += length + below(15);
    }
    for (std::int64_t at = 10; at < 650; at += 60 + below(80))
      waits.push_back({60 + 10 * below(2), at, 1 + below(40)});
  }

  void write(const std::string& path) const {
    auto writer = store::CaptureWriter::create(path).value();
    writer.set_run({.command_line = "./made", .ridgeline_version = "test", .clock = "test"});
    store::Id processes[2], devices[2];
    for (int i = 0; i < 2; ++i) {
      processes[i] = writer.add(store::Process{.pid = i + 1, .command = "./made", .start_ns = 1});
      devices[i] = writer.add(store::Device{.device_index = i,
                                            .name = "GPU " + std::to_string(i),
                                            .uuid = "GPU-" + std::to_string(i),
                                            .sm_count = 10 + i});
    }
    writer.add(store::RecordingWindow{
        .process_id = processes[0], .start_ns = 1, .end_ns = 2 * kStartNs, .synchronisation = true});
    std::int64_t correlation = 0;
    for (std::int64_t index = 0; index < kSteps; ++index) {
      const std::int64_t zero = kStartNs + index * kStepUs * 1000;
      store::Step step;
      step.process_id = processes[0];
      step.step_index = index;
      step.phase = Phase::timeline;
      step.host_start_ns = zero - 5000;
      step.host_end_ns = zero - 5000 + host_us * 1000;
      const store::Id step_id = writer.add(step);
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const ProgramKernel& k = kernels[i];
        store::Launch launch;
        launch.process_id = processes[k.process];
        launch.device_id = devices[k.device];
        launch.stream_id = 7 + k.device;
        launch.thread_id = k.thread;
        launch.correlation_id = ++correlation;
        launch.kernel_id = writer.kernel_id("kernel_" + std::to_string(i % 4));
        launch.nvtx_path_id = writer.string_id(i % 2 == 0 ? "step / forward" : "step / layer 1 / attention");
        launch.grid.x = 1 + static_cast<std::int64_t>(i % 4);
        launch.block.x = 128;
        launch.ordinal_in_step = static_cast<std::int64_t>(i);
        launch.start_ns = zero + k.from_us * 1000;
        launch.end_ns = zero + k.to_us * 1000;
        launch.host_start_ns = launch.start_ns - 4000;
        launch.host_end_ns = launch.start_ns - 2000;
        if (k.process == 0) launch.step_id = step_id;
        writer.add(launch);
      }
      for (const ProgramTransfer& each : transfers) {
        const auto add = [&](auto row) {
          row.process_id = processes[0];
          row.device_id = devices[each.device];
          row.correlation_id = ++correlation;
          row.stream_id = 20;
          row.bytes = each.bytes;
          row.start_ns = zero + each.from_us * 1000;
          row.end_ns = zero + each.to_us * 1000;
          row.step_id = step_id;
          if (!each.path.empty()) row.nvtx_path_id = writer.string_id(each.path);
          writer.add(row);
        };
        if (each.kind == TransferKind::memset) {
          add(store::Memset{});
        } else {
          add(store::Memcpy{.kind = each.direction});
        }
      }
      for (const ProgramWait& wait : waits)
        writer.add(store::Synchronisation{.process_id = processes[0],
                                          .thread_id = wait.thread,
                                          .start_ns = zero + wait.from_us * 1000,
                                          .duration_ns = wait.length_us * 1000,
                                          .call = SynchronisationCall::stream,
                                          .correlation_id = ++correlation,
                                          .step_id = step_id});
      for (int device = 0; device < 2; ++device) {
        for (std::int64_t at = 0; at < kStepUs; at += 250)
          writer.add(store::ClockSample{.device_id = devices[device],
                                        .time_ns = zero + at * 1000,
                                        .sm_clock_hz = 1'000'000'000 + 500'000'000 * device,
                                        .power_mw = 300'000 + 100'000 * device + at});
      }
    }
    writer.finish();
  }

  [[nodiscard]] bool runs(int device, std::int64_t at_us) const {
    return std::any_of(kernels.begin(), kernels.end(), [&](const ProgramKernel& k) {
      return k.process == 0 && k.device == device && k.from_us <= at_us && at_us < k.to_us;
    });
  }
};

TEST(ProfileRun, WhatOfACopyNoKernelHidesIsACountOfMicroseconds) {
  const ridgeline::testing::TemporaryDirectory directory;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const ProgramOfSteps program(seed);
    const std::string path = directory / (std::to_string(seed) + ".ridge");
    program.write(path);
    const RunProfile profile = profile_run(path).value();
    struct Sums {
      double calls = 0, bytes = 0, time_us = 0, exposed_us = 0;
    };
    std::map<std::tuple<std::string, TransferKind, CopyKind>, Sums> expected;
    for (const ProgramTransfer& each : program.transfers) {
      Sums& sums = expected[{folded_path(each.path), each.kind, each.direction}];
      sums.calls += 1;
      sums.bytes += static_cast<double>(each.bytes);
      for (std::int64_t at = each.from_us; at < each.to_us; ++at) {
        sums.time_us += 1;
        sums.exposed_us += program.runs(each.device, at) ? 0 : 1;
      }
    }
    ASSERT_EQ(profile.transfers.size(), expected.size());
    for (const TransferSite& site : profile.transfers) {
      const Sums& sums = expected[{site.path, site.kind, site.direction}];
      EXPECT_EQ(site.calls, sums.calls) << site.path;
      EXPECT_EQ(site.bytes, sums.bytes) << site.path;
      EXPECT_NEAR(site.time_ns, 1e3 * sums.time_us, 0.01) << site.path;
      EXPECT_NEAR(site.exposed_ns, 1e3 * sums.exposed_us, 0.01) << site.path;
    }
    std::map<std::int64_t, int> launches;
    for (const ProgramKernel& k : program.kernels) launches[k.thread] += k.process == 0 ? 1 : 0;
    const std::int64_t thread = launches[60] >= launches[70] ? 60 : 70;
    double waited_us = 0;
    for (const ProgramWait& wait : program.waits)
      waited_us += wait.thread == thread ? static_cast<double>(wait.length_us) : 0;
    ASSERT_TRUE(profile.parts.wait_ns && profile.parts.cpu_ns);
    EXPECT_DOUBLE_EQ(*profile.parts.wait_ns, 1e3 * waited_us);
    EXPECT_DOUBLE_EQ(*profile.parts.cpu_ns, 1e3 * (static_cast<double>(program.host_us) - waited_us));
  }
}

std::string profiles_of_fabricated(const ridgeline::testing::TemporaryDirectory& directory) {
  using Made = ridgeline::testing::FabricatedCapture;
  std::string text;
  int number = 0;
  for (const auto& [what, options] : std::vector<std::pair<std::string, Made>>{
           {"plain", {.layers = 1, .codes = true}},
           {"samples, declared", {.layers = 1, .sample_steps = 3, .declared = true}},
           {"no steps", {.layers = 1, .step_ranges = false}},
           {"copies", {.layers = 1, .run = 2, .copies = 3}},
           {"graphs", {.layers = 1, .graphs = true}},
           {"two ranks, overlap", {.layers = 2, .ranks = 2, .overlap = true}},
           {"refused, losses", {.layers = 1, .tier_refused = true, .losses = true}}}) {
    const std::string path = directory / fmt::format("made-{}.ridge", number++);
    ridgeline::testing::write_fabricated_capture(path, options);
    text += whole_text(what, path);
  }
  return text;
}

std::string profiles_of_generated(const ridgeline::testing::TemporaryDirectory& directory) {
  std::string text;
  for (const auto& [what, shape] :
       std::vector<std::pair<std::string, generate::Shape>>{{"eager", generate::Shape::eager},
                                                            {"decode", generate::Shape::decode},
                                                            {"after", generate::Shape::after}}) {
    const std::string path = directory / (what + ".ridge");
    {
      const auto sink = generate::make_capture_sink(path);
      generate::generate({.shape = shape,
                          .launches = 300,
                          .launches_per_step = 30,
                          .processes = 2,
                          .replay_steps = 1,
                          .sample_steps = 1,
                          .ranges = true,
                          .order = true,
                          .outlier_every = 3},
                         *sink);
    }
    text += whole_text(what, path);
  }
  return text;
}

TEST(AcceptedTable, ProfilesOfRuns) {
  const ridgeline::testing::TemporaryDirectory directory;
  std::string text = profiles_of_fabricated(directory) + profiles_of_generated(directory);
  for (const std::uint64_t seed : {1, 2}) {
    const std::string path = directory / fmt::format("program-{}.ridge", seed);
    ProgramOfSteps(seed).write(path);
    text += whole_text(fmt::format("made program {}", seed), path);
  }
  ridgeline::testing::expect_accepted("profiles.txt", text);
}

}  // namespace
}  // namespace ridgeline::comparison
