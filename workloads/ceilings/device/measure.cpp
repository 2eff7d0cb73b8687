#include "ceilings/device/measure.h"

#include <cuda_runtime_api.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "ceilings/device/caches.h"
#include "ceilings/device/chains.h"
#include "ceilings/device/dram.h"
#include "ceilings/device/gemms.h"
#include "ceilings/device/launches.h"
#include "ceilings/device/runner.h"
#include "ceilings/device/transfers.h"
#include "gpt2/common/nvtx.h"

namespace ridgeline::ceilings {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kResidentBytes = 2 << 20;  // of each array, for the planted fault
constexpr std::int64_t kL2SetBytes =
    8 << 20;  // the roof's working set; within the plateau of every L2 of 24 MB and more
constexpr std::int64_t kL1SetBytes = 64 << 10;
constexpr std::int64_t kSweepBytes = std::int64_t{1} << 30;
constexpr double kQuietS = 3;      // for a process that has just ended to leave the driver's averages
constexpr int kDeclaredTimes = 8;  // launches in a range: what caches hold from launch to launch weighs less

std::string bus_id_of(int device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    throw std::runtime_error("no NVIDIA GPU is usable");
  if (device < 0 || device >= count)
    throw std::runtime_error(
        fmt::format("no device {}: there {} {}", device, count == 1 ? "is" : "are", count));
  char text[32] = {};
  RIDGELINE_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, device));
  return text;
}

// As captures have it.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

DeviceFacts facts_of(int device, const Nvml& nvml) {
  cudaDeviceProp properties{};
  RIDGELINE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  DeviceFacts facts;
  facts.name = properties.name;
  facts.uuid = uuid_text(properties.uuid);
  facts.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
  facts.sm_count = properties.multiProcessorCount;
  facts.max_sm_clock_hz = nvml.max_sm_clock_hz().value_or(1e3 * attribute(cudaDevAttrClockRate, device));
  facts.application_sm_clock_hz = nvml.application_sm_clock_hz().value_or(0);
  facts.max_memory_clock_hz =
      nvml.max_memory_clock_hz().value_or(1e3 * attribute(cudaDevAttrMemoryClockRate, device));
  facts.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  facts.l2_bytes = attribute(cudaDevAttrL2CacheSize, device);
  facts.power_limit_w = nvml.power_limit_w().value_or(0);
  facts.ecc = nvml.ecc();
  facts.driver = nvml.driver_version();
  return facts;
}

// Before this process has a context. What a process left behind that has just ended is waited for.
Neighbours look_around(const Nvml& nvml) {
  Neighbours seen;
  const auto deadline = Clock::now() + std::chrono::duration<double>(kQuietS);
  do {
    seen.processes_before = nvml.processes().value_or(0);
    seen.utilisation_percent = nvml.utilisation_percent().value_or(0);
    if (seen.processes_before == 0 && seen.utilisation_percent == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (Clock::now() < deadline);
  return seen;
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// Whether another benchmark may begin.
class TimeLeft {
 public:
  explicit TimeLeft(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double spent_s() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  [[nodiscard]] bool over() const { return seconds_ > 0 && spent_s() >= seconds_; }

 private:
  Clock::time_point begin_ = Clock::now();
  double seconds_;
};

// The benchmarks of the roofs that are asked for, with the best configuration of each, and their memory.
class Benches {
 public:
  Benches(const Request& request, const DeviceFacts& device, Runner& runner, const TimeLeft& time)
      : request_(request),
        device_(device),
        runner_(runner),
        time_(time),
        counted_(request.plants.half_operations ? 0.5 : 1) {}

  void find(Findings& found) {
    streams(found);
    caches(found);
    for (const char* precision : {"fp32", "fp64"}) {
      if (!asked(Level::compute, precision)) continue;
      tell(std::string("compute.") + precision);
      add(found, chain_bench(device_, precision, 1, counted_, runner_.stream()));
    }
    gemms(found);
  }

  struct Entry {
    Bench bench;
    std::vector<Bench> others;  // products: the best of other shapes, the next best first
  };
  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }

  /// Loads at a part of the rate, which tell what the device draws anyway from what each byte and operation takes.
  [[nodiscard]] std::vector<Bench> for_energy() {
    std::vector<Bench> out;
    if (streams_) {
      out.push_back(streams_->bench(Mix::read, {256, 1, 1}));
      out.push_back(streams_->bench(Mix::read, {256, 2, 2}));
    }
    for (const char* precision : {"fp32", "fp64"}) {
      if (asked(Level::compute, precision))
        out.push_back(chain_bench(device_, precision, 0.25, 1, runner_.stream()));
    }
    return out;
  }

 private:
  [[nodiscard]] bool asked(Level level, const std::string& kind) const {
    return wanted(request_.only, to_string(level), RoofName{level, kind, {}}.text());
  }
  void tell(const std::string& what) const {
    if (request_.tell) request_.tell("looking for the best way: " + what);
  }
  [[nodiscard]] auto timed() {
    return [this](const Bench& bench) { return runner_.rate(bench); };
  }
  void add(Findings& found, Bench bench, std::vector<Bench> others = {}) {
    Roof roof;
    roof.name = bench.name;
    roof.unit = bench.unit;
    roof.work = bench.work;
    roof.per_cycle_sm = bench.per_cycle_sm;
    roof.configuration = bench.configuration;
    found.roofs.push_back(std::move(roof));
    entries_.push_back({std::move(bench), std::move(others)});
  }

  void streams(Findings& found) {
    for (const Mix mix : kMixes) {
      if (!asked(Level::dram, to_string(mix))) continue;
      tell(std::string("dram.") + to_string(mix));
      if (!streams_)
        streams_ = std::make_unique<Streams>(device_, request_.plants.l2_resident ? kResidentBytes : 0,
                                             runner_.stream());
      add(found, streams_->best(mix, timed()));
    }
  }

  void caches(Findings& found) {
    const bool l2 = asked(Level::l2, "read"), l1 = asked(Level::l1, "read"),
               shared = asked(Level::shared, "read");
    if (!l2 && !l1 && !shared) return;
    caches_ = std::make_unique<CacheReads>(device_, kSweepBytes, runner_.stream());
    if (l2) {
      tell("l2.read");
      found.sweeps.push_back(sweep_l2(*caches_, kSweepBytes, request_.plan.sweep_per_octave, timed()));
      add(found, caches_->l2(std::min(kL2SetBytes, device_.l2_bytes / 4 / 65536 * 65536)));
    }
    if (l1) {
      tell("l1.read");
      found.sweeps.push_back(sweep_l1(*caches_, request_.plan.sweep_per_octave, timed()));
      add(found, caches_->l1(kL1SetBytes));
    }
    if (shared) add(found, caches_->shared());
  }

  void gemms(Findings& found) {
    for (const std::string& precision : request_.plan.gemms) {
      if (!asked(Level::compute, precision)) continue;
      if (time_.over()) {
        found.left_out.push_back("compute." + precision);
        continue;
      }
      tell("compute." + precision);
      if (!gemms_) gemms_ = std::make_unique<Gemms>(device_, request_.plan.shapes, runner_.stream());
      std::vector<std::pair<double, Bench>> best;  // of each shape
      for (const Shape& shape : request_.plan.shapes) {
        std::optional<std::pair<double, Bench>> fastest;
        for (Bench& tried : gemms_->candidates(precision, shape, counted_)) {
          const double rate = runner_.rate(tried);
          if (!fastest || rate > fastest->first) fastest = {rate, std::move(tried)};
        }
        if (!fastest) continue;
        found.shapes.push_back({precision, shape.text(), fastest->first, {}});
        best.push_back(*std::move(fastest));
      }
      if (best.empty()) continue;
      std::stable_sort(best.begin(), best.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      std::vector<Bench> others;
      for (std::size_t i = 1; i < best.size(); ++i) others.push_back(std::move(best[i].second));
      add(found, std::move(best.front().second), std::move(others));
    }
  }

  const Request& request_;
  const DeviceFacts& device_;
  Runner& runner_;
  const TimeLeft& time_;
  double counted_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<CacheReads> caches_;
  std::unique_ptr<Gemms> gemms_;
  std::vector<Entry> entries_;
};

// Short timings prefer what draws much power: of several shapes the one that is fastest as a load counts.
Reading best_sustained(Runner& runner, Benches::Entry& entry, int shapes, const TimeLeft& time,
                       Findings& found) {
  const auto note = [&](const Bench& bench, double rate) {
    for (ShapeRate& shape : found.shapes) {
      if (shape.precision == bench.name.kind && bench.configuration.starts_with(shape.shape + ","))
        shape.sustained_ops_per_s = rate;
    }
  };
  Reading best = runner.sustained(entry.bench);
  note(entry.bench, best.value);
  for (int i = 1; i < shapes && i <= static_cast<int>(entry.others.size()) && !time.over(); ++i) {
    const Bench& other = entry.others[static_cast<std::size_t>(i - 1)];
    Reading reading = runner.sustained(other);
    note(other, reading.value);
    if (reading.value <= best.value || (!reading.voids.empty() && best.voids.empty())) continue;
    best = std::move(reading);
    best.configuration = other.configuration;
  }
  return best;
}

}  // namespace

Findings measure(const Request& request) {
  const TimeLeft time(request.seconds);
  const auto tell = [&](const std::string& line) {
    if (request.tell) request.tell(line);
  };
  const Nvml nvml(bus_id_of(request.device));
  const Neighbours before = look_around(nvml);
  RIDGELINE_CUDA_CHECK(cudaSetDevice(request.device));
  Findings found;
  found.device = facts_of(request.device, nvml);
  found.mode = request.plan.thorough ? "thorough" : "quick";
  found.measured = now_text();
  Runner runner(request.plan, found.device, nvml, before);
  tell("launches and transfers");
  std::vector<Roof> slow = measure_launches(request.plan, request.only, runner.stream());
  for (Roof& roof : measure_transfers(request.plan, request.only, request.device))
    slow.push_back(std::move(roof));
  Benches benches(request, found.device, runner, time);
  benches.find(found);
  // Whether there is time for it; else it is noted.
  const auto begins = [&](const std::string& what) {
    if (!time.over()) return true;
    found.left_out.push_back(what);
    return false;
  };
  for (std::size_t i = 0; i < benches.entries().size(); ++i) {
    const std::string name = found.roofs[i].name.text();
    if (!begins(name + " burst")) continue;
    tell(name + ", in bursts");
    found.roofs[i].readings.push_back(runner.burst(benches.entries()[i].bench));
  }
  for (std::size_t i = 0; i < benches.entries().size(); ++i) {
    Benches::Entry& entry = benches.entries()[i];
    Roof& roof = found.roofs[i];
    if (begins(roof.name.text() + " sustained")) {
      tell(roof.name.text() + ", sustained");
      const bool has_burst = !roof.readings.empty();
      roof.readings.push_back(best_sustained(runner, entry, request.plan.sustained_shapes, time, found));
      Reading& burst = roof.readings.front();
      auto none = no_burst(burst.sm_clock_hz, roof.readings.back().sm_clock_hz, found.device.max_sm_clock_hz);
      if (has_burst && none) burst.voids.push_back(*std::move(none));
    }
    const std::string wrong = entry.bench.check();
    for (Reading& reading : roof.readings) {
      if (!wrong.empty()) reading.voids.push_back({VoidRule::wrong_result, wrong});
    }
  }
  std::vector<EnergyPoint> points = energy_points(found.roofs);
  for (const Bench& bench : benches.for_energy()) {
    if (!begins("energy of " + bench.name.text() + " at a part of its rate")) continue;
    tell("energy: " + bench.name.text() + " at a part of its rate");
    if (auto point = energy_point(bench.name, runner.sustained(bench))) points.push_back(*std::move(point));
  }
  if (!request.plants.half_operations && !request.plants.l2_resident) found.energy = fit_energy(points);
  found.roofs.insert(found.roofs.end(), slow.begin(), slow.end());
  found.seconds = time.spent_s();
  return found;
}

void run_declared(const Request& request, int steps) {
  const Nvml nvml(bus_id_of(request.device));
  RIDGELINE_CUDA_CHECK(cudaSetDevice(request.device));
  Findings found;
  found.device = facts_of(request.device, nvml);
  Runner runner(request.plan, found.device, nvml, {});
  const TimeLeft time(0);
  Benches benches(request, found.device, runner, time);
  benches.find(found);
  for (int step = 0; step < steps; ++step) {
    const gpt2::NvtxRange whole("step");
    for (const Benches::Entry& entry : benches.entries()) {
      const Bench& bench = entry.bench;
      if (bench.prepare) bench.prepare();
      const auto work = static_cast<std::int64_t>(bench.work) * kDeclaredTimes;
      const std::string name = bench.name.text();
      gpt2::OpCost cost;
      (bench.unit == "ops_per_s" ? cost.flops : cost.bytes) = work;
      if (bench.name.level != Level::dram) cost.bytes = 0;  // bytes are those of device memory
      const gpt2::NvtxRange range(name.c_str(), cost);
      for (int i = 0; i < kDeclaredTimes; ++i) bench.launch(runner.stream());
    }
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(runner.stream()));
  }
}

void run_load(int device, double seconds) {
  const Nvml nvml(bus_id_of(device));
  RIDGELINE_CUDA_CHECK(cudaSetDevice(device));
  const DeviceFacts facts = facts_of(device, nvml);
  const gpt2::Stream stream;
  const Bench bench = chain_bench(facts, "fp32", 1, 1, stream.get());
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    for (int i = 0; i < 20; ++i) bench.launch(stream.get());
    stream.synchronize();
  }
}

}  // namespace ridgeline::ceilings
