#include "ceilings/device/runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

#include "ceilings/core/settling.h"
#include "ceilings/core/statistics.h"

namespace ridgeline::ceilings {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPlaces = 1 << 14;      // of the probe: batches of the longest load
constexpr double kBatchS = 0.02;      // a load is queued in batches of this length
constexpr std::size_t kInFlight = 3;  // of them, so that the GPU never waits for the CPU
constexpr int kParts = 3;             // of a window, which must agree
constexpr double kWatchMs = 12;       // for others: some slices of time
constexpr double kMinEnergyS = 0.5;
constexpr int kBurstParts = 4;                            // of a burst, each with its own clock
constexpr unsigned long long kPowerReasons = 0x4 | 0x80;  // NVML's: software power cap, power brake
constexpr double kMinBurstS = 0.4e-3;                     // shorter ones are launches' gaps

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Runner::Runner(const Plan& plan, const DeviceFacts& device, const Nvml& nvml, const Neighbours& before)
    : plan_(plan), device_(device), nvml_(nvml), before_(before), probe_(kPlaces) {}

double Runner::seconds_of(const Bench& bench) {
  if (bench.prepare) bench.prepare();
  bench.launch(stream_.get());
  probe_.read(0, stream_.get());
  bench.launch(stream_.get());
  probe_.read(1, stream_.get());
  stream_.synchronize();
  return std::max(between(probe_.at(0), probe_.at(1)).seconds, 1e-7);
}

double Runner::rate(const Bench& bench) {
  double best = 0;
  for (int i = 0; i < 3; ++i) best = std::max(best, bench.work / seconds_of(bench));
  return best;
}

void Runner::look_for_others(Reading& reading) {
  Neighbours seen = before_;
  seen.processes_now = nvml_.processes().value_or(0);
  seen.not_running_share = not_running_share(kWatchMs, stream_.get());
  if (auto found = foreign_process(seen)) reading.voids.push_back(*std::move(found));
}

Reading Runner::burst(const Bench& bench) {
  Reading reading;
  reading.state = State::burst;
  const int launches = std::max(1, static_cast<int>(std::floor(plan_.burst_ms * 1e-3 / seconds_of(bench))));
  std::vector<double> rates, clocks;
  for (int round = 0; round < plan_.rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::duration<double>(plan_.idle_s));
    bench.launch(stream_.get());  // pages and caches, which the pause may have cost
    probe_.read(0, stream_.get());
    const int parts = std::min(launches, kBurstParts);
    for (int part = 0; part < parts; ++part) {
      for (int i = launches * part / parts; i < launches * (part + 1) / parts; ++i)
        bench.launch(stream_.get());
      probe_.read(part + 1, stream_.get());
    }
    stream_.synchronize();
    // As much of it as ran before the power limit took the clock down; all, where nothing did.
    int held = parts;
    Interval took = between(probe_.at(0), probe_.at(parts));
    for (int part = parts; part > 0; --part) {
      const Interval until = between(probe_.at(0), probe_.at(part));
      if (until.seconds < kMinBurstS || clock_down(until.clock_hz, device_.max_sm_clock_hz)) continue;
      took = until;
      held = part;
      break;
    }
    rates.push_back(bench.work * (launches * held / parts) / took.seconds);
    clocks.push_back(took.clock_hz);
    reading.seconds += took.seconds;
  }
  reading.value = median(rates);
  reading.rounds = plan_.rounds;
  reading.spread_ratio = disagreement(rates);
  reading.sm_clock_hz = median(clocks);
  reading.temperature_c = nvml_.temperature_c();
  reading.memory_temperature_c = nvml_.memory_temperature_c();
  const auto add = [&](std::optional<Void> found) {
    if (found) reading.voids.push_back(*std::move(found));
  };
  add(rounds_disagree(rates));
  add(above_cycles(reading.value, bench.per_cycle_sm, device_.sm_count, reading.sm_clock_hz));
  add(above_limit(reading.value, bench.limit_per_s));
  look_for_others(reading);
  return reading;
}

// A load that is kept up: batches of launches with a reading of the clock between them.
class Runner::Load {
 public:
  Load(Runner& runner, const Bench& bench)
      : runner_(runner),
        bench_(bench),
        launches_(std::max(1, static_cast<int>(std::round(kBatchS / runner.seconds_of(bench))))) {
    runner_.probe_.read(0, stream());
    for (std::size_t i = 0; i < kInFlight; ++i) queue();
  }

  /// Waits for the oldest batch, queues another, and looks at the driver's counters. False: the probe is full.
  bool go_on() {
    events_.front().synchronize();
    events_.pop_front();
    ++done_;
    const bool room = queued_ + 1 < runner_.probe_.places();
    if (room) queue();
    clocks_.push_back({seconds(), batch(done_ - 1).clock_hz});
    if (const auto joules = runner_.nvml_.joules()) energy_.add(seconds_since(begin_), *joules);
    throttle_ |= runner_.nvml_.throttle_reasons();
    return room;
  }

  /// Of the GPU, since the load began.
  [[nodiscard]] double seconds() const { return between(tick(0), tick(done_)).seconds; }
  [[nodiscard]] int done() const { return done_; }
  [[nodiscard]] const std::vector<Point>& clocks() const { return clocks_; }
  [[nodiscard]] const EnergyTrace& energy() const { return energy_; }
  [[nodiscard]] unsigned long long throttle() const { return throttle_; }
  /// From here on the driver's counters are those of the window.
  void begin_window() {
    energy_ = {};
    throttle_ = 0;
  }
  /// Looks which batches of the window waited for the CPU (core/settling.h, waited()): worked() is about the others.
  void end_window(int from, int to) {
    std::vector<double> seconds;
    for (int i = from; i < to; ++i) seconds.push_back(batch(i).seconds);
    first_ = from;
    waited_ = waited(seconds);
  }
  struct Worked {
    Interval time;
    double rate = 0;  // of the bench's work, per second
  };
  /// Over batches of the window, which has ended.
  [[nodiscard]] Worked worked(int from, int to) const {
    double seconds = 0, cycles = 0;
    int batches = 0;
    for (int i = from; i < to; ++i) {
      if (waited_[static_cast<std::size_t>(i - first_)]) continue;
      const Interval took = batch(i);
      seconds += took.seconds;
      cycles += took.seconds * took.clock_hz;
      ++batches;
    }
    if (seconds <= 0) return {};
    return {{seconds, cycles / seconds}, bench_.work * launches_ * batches / seconds};
  }
  void finish() { runner_.stream_.synchronize(); }

 private:
  [[nodiscard]] cudaStream_t stream() const { return runner_.stream_.get(); }
  [[nodiscard]] Tick tick(int batch) const { return runner_.probe_.at(batch); }
  [[nodiscard]] Interval batch(int number) const { return between(tick(number), tick(number + 1)); }
  void queue() {
    for (int i = 0; i < launches_; ++i) bench_.launch(stream());
    runner_.probe_.read(++queued_, stream());
    events_.emplace_back(cudaEventDisableTiming);
    events_.back().record(stream());
  }

  Runner& runner_;
  const Bench& bench_;
  int launches_;
  int queued_ = 0;
  int done_ = 0;
  Clock::time_point begin_ = Clock::now();
  std::deque<gpt2::Event> events_;
  std::vector<Point> clocks_;
  int first_ = 0;             // batch of the window, once it has ended
  std::vector<bool> waited_;  // by batch from there
  EnergyTrace energy_;
  unsigned long long throttle_ = 0;
};

Reading Runner::sustained(const Bench& bench) {
  Reading reading;
  reading.state = State::sustained;
  Load load(*this, bench);
  bool room = true;
  bool rested = false;
  while (room && !(rested = settled(load.clocks(), plan_.settling)) && load.seconds() < plan_.max_settle_s)
    room = load.go_on();
  load.begin_window();
  const int first = load.done();
  const double begin = load.seconds();
  // The counter is brought up to date some ten times a second: its use is known from its first change to its last.
  while (room && (load.seconds() - begin < plan_.window_s)) room = load.go_on();
  const int last = load.done();
  load.finish();
  load.end_window(first, last);
  // A power limit moves the clock by more than parts may differ: then what goes by that clock is compared cycle by
  // cycle, and the value is the mean over the window all the same. Device memory has a clock of its own.
  const bool by_cycle = (load.throttle() & kPowerReasons) != 0 && bench.limit_per_s <= 0;
  std::vector<double> parts, judged;
  for (int i = 0; i < kParts; ++i) {
    const int from = first + (last - first) * i / kParts, to = first + (last - first) * (i + 1) / kParts;
    if (to <= from) continue;
    const auto [time, rate] = load.worked(from, to);
    parts.push_back(rate);
    judged.push_back(by_cycle && time.clock_hz > 0 ? rate / time.clock_hz : rate);
  }
  const auto [window, value] = load.worked(first, last);
  reading.value = value;
  reading.rounds = static_cast<int>(parts.size());
  reading.spread_ratio = disagreement(parts);
  reading.seconds = window.seconds;
  reading.sm_clock_hz = window.clock_hz;
  if (const auto use = load.energy().use(kMinEnergyS)) {
    reading.power_w = use->watts();
    reading.joules = use->joules;
  }
  reading.temperature_c = nvml_.temperature_c();
  reading.memory_temperature_c = nvml_.memory_temperature_c();
  reading.throttle = throttle_words(load.throttle());
  const auto add = [&](std::optional<Void> found) {
    if (found) reading.voids.push_back(*std::move(found));
  };
  if (!rested && plan_.thorough)
    add(Void{VoidRule::not_settled, "the clock still moved when the time for it to settle was over"});
  add(rounds_disagree(judged));
  add(above_cycles(reading.value, bench.per_cycle_sm, device_.sm_count, reading.sm_clock_hz));
  add(above_limit(reading.value, bench.limit_per_s));
  look_for_others(reading);
  return reading;
}

}  // namespace ridgeline::ceilings
