#include "generate/rank_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "generate/generate.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/collectives.h"

namespace ridgeline::generate {

namespace {

constexpr double kBaseClockHz = 1.755e9;
constexpr double kRankBusBytesPerS = 330e9;
constexpr std::int64_t kRankBucketBytes = 28'311'552;  // a layer's matrices of GPT-2 124M, FP32
constexpr double kRankLatencyNs = 8000;
constexpr std::int64_t kBetweenCallsNs = 200;
constexpr double kSampleNs = 8000;
constexpr int kMaxTries = 200;
constexpr std::int64_t kComputeStream = 7;
constexpr std::int64_t kCommunicationStream = 21;

class RankRandom {
 public:
  explicit RankRandom(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567ULL) {}
  double uniform() {  // 0 up to 1, SplitMix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  double around() { return uniform() + uniform() + uniform() - 1.5; }  // mean 0, deviation 0.5

 private:
  std::uint64_t state_;
};

struct KernelOf {
  const char* name;
  double ns;
  int blocks;
};
constexpr std::array<KernelOf, 4> kForward = {{{"_Z9gemm_mainPKfPfi", 210'000, 768},
                                               {"_Z17layernorm_forwardPKfPfi", 24'000, 1024},
                                               {"_Z17attention_forwardPKfPfi", 140'000, 384},
                                               {"_Z12gelu_forwardPKfPfi", 31'000, 2048}}};
constexpr std::array<KernelOf, 4> kBackward = {{{"_Z13gelu_backwardPKfPfi", 36'000, 2048},
                                                {"_Z13gemm_gradientPKfPfi", 390'000, 768},
                                                {"_Z18attention_backwardPKfPfi", 260'000, 384},
                                                {"_Z18layernorm_backwardPKfPfi", 40'000, 1024}}};
// Of a layer's gradients, what each kernel of its backward pass completes.
constexpr std::array<double, 4> kGradientShare = {0.05, 0.65, 0.27, 0.03};
constexpr KernelOf kEmbeddingBackward = {"_Z18embedding_backwardPKfPfi", 240'000, 1024};
constexpr KernelOf kOptimizer = {"_Z12adamw_updatePKfPfi", 180'000, 4096};
constexpr const char* kReduceKernel =
    "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

struct RanLaunch {
  const char* kernel = nullptr;
  int blocks = 1;
  double start_ns = 0, end_ns = 0;
  bool communicates = false;
  std::int64_t bytes = 0;
  double moves_from_ns = 0;  // bytes travel from here to the end
  std::int64_t call = 0;     // its place in the program: the host is far ahead
};
struct RanCopy {
  double start_ns = 0, end_ns = 0;
};
struct RanStep {
  double host_start_ns = 0, host_end_ns = 0;
  std::vector<RanLaunch> launches;
  std::vector<RanCopy> copies;
};

// One rank on the true clock: what it does until it must wait for the others.
class RankProgram {
 public:
  RankProgram(const RankJob& job, int rank)
      : job_(job),
        random_(job.seed * 1'000'003 + static_cast<std::uint64_t>(rank)),
        speed_(1 + 0.003 * random_.around()),
        clock_hz_(kBaseClockHz / speed_) {}

  [[nodiscard]] double clock_hz(bool late) const {
    return late && job_.cause == RankCause::lower_clock ? clock_hz_ / (1 + slowness()) : clock_hz_;
  }

  void begin_step(bool late) {
    late_ = late;
    step_ = {};
    step_.host_start_ns = now_;
    // The optimizer has waited for them, or nothing does.
    std::erase_if(collectives_, [&](const RanCopy& of) { return of.end_ns <= now_; });
    now_ += 6000 + 500 * random_.around();
    gaps_left_ = late && job_.cause == RankCause::host_gaps ? job_.layers : 0;
    step_.copies.push_back({now_, now_ + 21'000});  // the tokens
    now_ += 22'000;
    for (int layer = 0; layer < job_.layers; ++layer) {
      for (const KernelOf& kernel : kForward) launch(kernel);
    }
  }
  // What a layer of the backward pass begins with.
  void begin_layer() {
    if (gaps_left_ > 0) {
      now_ += job_.late_ns / job_.layers;
      --gaps_left_;
    }
    if (late_ && job_.cause == RankCause::copies) {
      const double each = job_.late_ns / job_.layers;
      step_.copies.push_back({now_, now_ + each});
      now_ += each;
    }
  }
  // A kernel of the backward pass; then its gradients are ready.
  [[nodiscard]] double backward(const KernelOf& kernel) {
    launch(kernel);
    return now_;
  }
  // When its part of a collective begins on its stream.
  [[nodiscard]] double arrive(double ready_ns) const {
    return std::max(ready_ns + 2500, communication_end_ns_ + 800);
  }
  // `behind_ns`: it goes on for so long, one after the other, and nothing waits for that.
  void communicate(double start_ns, double end_ns, double transfer_ns, std::int64_t bytes, double behind_ns) {
    const double end = end_ns + 600 * random_.uniform();
    step_.launches.push_back({kReduceKernel, 24, start_ns, end, true, bytes, end - transfer_ns});
    communication_end_ns_ = end;
    behind_end_ns_ = std::max(behind_end_ns_, end) + behind_ns;
    collectives_.push_back({start_ns, behind_ns > 0 ? behind_end_ns_ : end});
  }
  [[nodiscard]] double communication_end_ns() const { return communication_end_ns_; }
  void end_step() {
    now_ = std::max(now_, communication_end_ns_) + 1500;
    launch(kOptimizer);
    launch(kOptimizer);
    step_.host_end_ns = now_;
  }
  [[nodiscard]] const RanStep& step() const { return step_; }
  [[nodiscard]] double interference_ns() const { return interference_ns_; }

 private:
  // Of the time of a step in kernels, how much the straggler's is longer.
  [[nodiscard]] double slowness() const {
    double all = 2 * kOptimizer.ns;
    for (const KernelOf& kernel : kForward) all += job_.layers * kernel.ns;
    for (const KernelOf& kernel : kBackward) all += job_.layers * kernel.ns;
    return job_.late_ns / all;
  }
  // Of a kernel that takes `left_ns` with no collective beside it. Collectives of a rank run one after the other.
  [[nodiscard]] double end_of(double start_ns, double left_ns) const {
    double at = start_ns;
    for (const RanCopy& collective : collectives_) {
      if (collective.end_ns <= at) continue;
      const double before = std::max(0.0, collective.start_ns - at);
      if (left_ns <= before) break;
      left_ns -= before;
      at += before;
      const double done = (collective.end_ns - at) / job_.interference;
      if (left_ns <= done) return at + left_ns * job_.interference;
      left_ns -= done;
      at = collective.end_ns;
    }
    return at + left_ns;
  }
  void launch(const KernelOf& kernel) {
    double ns = kernel.ns * speed_ * (1 + 0.006 * random_.around());
    int blocks = kernel.blocks;
    if (late_ && (job_.cause == RankCause::more_work || job_.cause == RankCause::more_cycles ||
                  job_.cause == RankCause::lower_clock))
      ns *= 1 + slowness();
    if (late_ && job_.cause == RankCause::more_work)
      blocks = static_cast<int>(static_cast<double>(blocks) * (1 + slowness()) + 0.5);
    if (job_.interference != 1) {
      const double slowed = end_of(now_, ns) - now_;
      interference_ns_ += slowed - ns;
      ns = slowed;
    }
    step_.launches.push_back({kernel.name, blocks, now_, now_ + ns, false, 0});
    now_ += ns + 900 + 150 * random_.around();
  }

  const RankJob& job_;
  RankRandom random_;
  double speed_;
  double clock_hz_;
  bool late_ = false;
  int gaps_left_ = 0;
  double now_ = 0;
  double communication_end_ns_ = 0;
  double behind_end_ns_ = 0;
  std::vector<RanCopy> collectives_;  // that kernels of the step may be beside
  double interference_ns_ = 0;        // of all steps
  RanStep step_;
};

// What of a rank is in its capture.
class RankCapture {
 public:
  RankCapture(const RankJob& job, int rank, const std::string& path, double offset_ns, double drift_ppb)
      : job_(job), rank_(rank), offset_ns_(offset_ns), drift_ppb_(drift_ppb), writer_(created(path)) {
    store::Run run;
    run.command_line = job.command_line + " --rank " + std::to_string(rank);
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    run.start_ns = at(0);
    run.schedule = "timeline=" + std::to_string(job.steps);
    run.step_range = "step";
    writer_.set_run(run);
    writer_.add_environment("WORLD_SIZE", std::to_string(job.ranks));
    store::Process process;
    process.pid = 4000 + rank;
    process.rank = rank;
    process.command = "train";
    process.start_ns = at(0);
    process_ = writer_.add(process);
    writer_.set_host(process_, "host" + std::to_string(rank / job.ranks_per_host));
    store::Device device;
    device.device_index = rank % job.ranks_per_host;
    device.name = "NVIDIA H200";
    device.uuid = "GPU-" + std::to_string(rank);
    device.sm_count = 132;
    device.max_sm_clock_hz = 1'980'000'000;
    device_ = writer_.add(device);
    if (job.bytes_known)
      communicator_ = writer_.add(store::Communicator{.process_id = process_,
                                                      .hash = job.communicator,
                                                      .ranks = job.ranks,
                                                      .rank = rank,
                                                      .name = std::nullopt});
  }

  [[nodiscard]] std::int64_t at(double true_ns) const {
    return kOrigin + static_cast<std::int64_t>(true_ns + offset_ns_ + drift_ppb_ * 1e-9 * true_ns);
  }

  void add(int index, RanStep step) {
    for (std::size_t i = 0; i < step.launches.size(); ++i)
      step.launches[i].call = static_cast<std::int64_t>(i);
    std::stable_sort(step.launches.begin(), step.launches.end(),
                     [](const RanLaunch& a, const RanLaunch& b) { return a.start_ns < b.start_ns; });
    if (index == 3 && rank_ == job_.reordered) reorder(step);
    store::Step row;
    row.process_id = process_;
    row.step_index = index;
    const bool sampled = index >= job_.steps;
    row.phase = sampled ? Phase::sample : Phase::timeline;
    row.host_start_ns = at(step.host_start_ns);
    row.host_end_ns = at(step.host_end_ns);
    row.gpu_start_ns = at(step.launches.front().start_ns);
    row.gpu_end_ns = at(last_end(step));
    step_ = writer_.add(row);
    host_start_ns_ = *row.host_start_ns;
    std::int64_t ordinal = 0;
    int calls = 0;
    for (const RanLaunch& launch : step.launches) {
      const bool lost = launch.communicates && index == 4 && rank_ == job_.lost_calls && ++calls <= 2;
      if (!lost && launch.communicates && job_.by_engines) {
        add_gather(launch);
      } else if (!lost) {
        add_launch(launch, ordinal++);
      }
      if (launch.communicates) ++next_call_;
    }
    correlation_ += static_cast<std::int64_t>(step.launches.size());
    for (const RanCopy& copy : step.copies) add_copy(copy);
    if (sampled) add_samples(step);
    end_ns_ = step.host_end_ns;
  }

  void add_clock(double true_ns, double hz) {
    writer_.add(store::ClockSample{.device_id = device_,
                                   .time_ns = at(true_ns),
                                   .sm_clock_hz = static_cast<std::int64_t>(hz),
                                   .memory_clock_hz = {},
                                   .power_mw = {},
                                   .temperature_c = {},
                                   .throttle_reasons = {}});
  }

  void finish() {
    store::Completeness completeness;
    completeness.process_id = process_;
    completeness.launches_seen = completeness.kernel_records = launches_;
    writer_.add(completeness);
    for (const Tier tier : {Tier::t0, Tier::t1, Tier::t2, Tier::t3})
      writer_.add(store::TierStatus{
          process_, tier, tier == Tier::t0 ? TierOutcome::ok : TierOutcome::not_requested, std::nullopt});
    writer_.finish();
  }

 private:
  static store::CaptureWriter created(const std::string& path) {
    auto result = store::CaptureWriter::create(path);
    if (!result.ok()) throw std::runtime_error(result.failure().message);
    return std::move(result).value();
  }
  static double last_end(const RanStep& step) {
    double end = 0;
    for (const RanLaunch& launch : step.launches) end = std::max(end, launch.end_ns);
    return end;
  }
  // A bucket changes its size with that of the norm, as if two calls had been made the other way round.
  static void reorder(RanStep& step) {
    RanLaunch* first = nullptr;
    for (RanLaunch& launch : step.launches) {
      if (!launch.communicates) continue;
      if (first == nullptr)
        first = &launch;
      else if (launch.bytes != first->bytes) {
        std::swap(first->bytes, launch.bytes);
        return;
      }
    }
  }
  void add_gather(const RanLaunch& launch) {
    const int others = job_.ranks - 1;
    store::Id first = 0;
    for (int i = 0; i < others; ++i) {
      store::Memcpy row;
      row.process_id = process_;
      row.device_id = device_;
      row.context_id = 1;
      row.stream_id = kCommunicationStream;
      row.correlation_id = correlation_ + 1 + launch.call;
      row.kind = CopyKind::peer_to_peer;
      row.bytes = launch.bytes / job_.ranks;
      const double each_ns = (launch.end_ns - launch.start_ns) / others;
      row.start_ns = at(launch.start_ns + each_ns * i);
      row.end_ns = i + 1 == others ? at(launch.end_ns) : at(launch.start_ns + each_ns * (i + 1));
      row.step_id = step_;
      const store::Id id = writer_.add(row);
      if (i == 0) first = id;
      if (!job_.bytes_known) continue;
      writer_.add(store::CopiedCollective{.copy_id = id,
                                          .first_copy_id = first,
                                          .communicator_id = communicator_,
                                          .function = CollectiveFunction::all_gather,
                                          .bytes = launch.bytes,
                                          .source = CollectiveSource::program});
    }
  }
  void add_launch(const RanLaunch& launch, std::int64_t ordinal) {
    store::Launch row;
    row.process_id = process_;
    row.device_id = device_;
    row.context_id = 1;
    row.stream_id = launch.communicates ? kCommunicationStream : kComputeStream;
    row.correlation_id = correlation_ + 1 + launch.call;
    ++launches_;
    row.kernel_id = writer_.kernel_id(launch.kernel);
    row.start_ns = at(launch.start_ns);
    row.end_ns = at(launch.end_ns);
    row.host_start_ns = host_start_ns_ + kBetweenCallsNs * launch.call;
    row.host_end_ns = *row.host_start_ns + kBetweenCallsNs / 2;
    row.grid.x = launch.blocks;
    row.block.x = 256;
    row.registers_per_thread = 64;
    row.step_id = step_;
    row.ordinal_in_step = ordinal;
    const store::Id id = writer_.add(row);
    if (!launch.communicates || !job_.bytes_known) return;
    writer_.add(store::Collective{.launch_id = id,
                                  .communicator_id = communicator_,
                                  .ordinal = next_call_,
                                  .function = CollectiveFunction::all_reduce,
                                  .bytes = launch.bytes,
                                  .source = CollectiveSource::program,
                                  .bytes_source = CollectiveSource::program,
                                  .algorithm = CollectiveAlgorithm::ring,
                                  .protocol = CollectiveProtocol::simple,
                                  .algorithm_source = CollectiveSource::program});
  }
  void add_copy(const RanCopy& copy) {
    store::Memcpy row;
    row.process_id = process_;
    row.device_id = device_;
    row.context_id = 1;
    row.stream_id = kComputeStream;
    row.correlation_id = ++correlation_;
    row.kind = CopyKind::host_to_device;
    row.bytes = 65'536;
    row.start_ns = at(copy.start_ns);
    row.end_ns = at(copy.end_ns);
    row.step_id = step_;
    writer_.add(row);
  }

  // Bytes that travelled within [from, to).
  static double moved(const std::vector<std::pair<RanCopy, double>>& all, double from, double to) {
    double sum = 0;
    for (const auto& [time, bytes] : all) {
      const double within = std::min(time.end_ns, to) - std::max(time.start_ns, from);
      if (within > 0) sum += bytes * within / (time.end_ns - time.start_ns);
    }
    return sum;
  }
  void add_samples(const RanStep& step) {
    std::vector<std::pair<RanCopy, double>> links, copies;
    for (const RanLaunch& launch : step.launches) {
      if (launch.communicates && launch.end_ns > launch.moves_from_ns)
        links.push_back(
            {{launch.moves_from_ns, launch.end_ns},
             kLinkOverhead * 2.0 * (job_.ranks - 1) / job_.ranks * static_cast<double>(launch.bytes)});
    }
    for (const RanCopy& copy : step.copies) copies.push_back({copy, 65'536.0});
    const double end = last_end(step);
    store::PmWindow window;
    window.process_id = process_;
    window.device_id = device_;
    window.interval_ns = static_cast<std::int64_t>(kSampleNs);
    window.start_ns = at(step.host_start_ns - 2 * kSampleNs);
    window.end_ns = at(end + 2 * kSampleNs);
    const std::array<std::pair<const char*, const std::vector<std::pair<RanCopy, double>>*>, 4> kinds = {
        {{"nvltx__bytes_data_user.sum", &links},
         {"nvlrx__bytes_data_user.sum", &links},
         {"pcie__read_bytes.sum", &copies},
         {"pcie__write_bytes.sum", nullptr}}};
    std::int64_t taken = 0;
    for (double time = step.host_start_ns - kSampleNs; time < end + 2 * kSampleNs;
         time += kSampleNs, ++taken) {
      for (const auto& [name, moves] : kinds)
        writer_.add(store::PmSample{device_, at(time), writer_.metric_id(name, "bytes"),
                                    moves != nullptr ? moved(*moves, time - kSampleNs, time) : 0});
    }
    window.sample_count = taken;
    writer_.add(window);
  }

  const RankJob& job_;
  int rank_;
  double offset_ns_, drift_ppb_;
  store::CaptureWriter writer_;
  store::Id process_ = 0, device_ = 0, step_ = 0;
  std::optional<store::Id> communicator_;
  std::int64_t launches_ = 0;
  std::int64_t correlation_ = 0;
  std::int64_t host_start_ns_ = 0;  // of the step
  std::int64_t next_call_ = 0;
  double end_ns_ = 0;
};

std::string file_of(const std::string& directory, int rank) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/rank%04d.ridge", rank);
  return directory + name.data();
}

double transfer_ns(const RankJob& job, std::int64_t bytes) {
  const double factor = 2.0 * (job.ranks - 1) / job.ranks;
  return kRankLatencyNs + factor * static_cast<double>(bytes) / (kRankBusBytesPerS * job.links) * 1e9;
}

// All ranks enter a collective; once the last is there, it takes its time. Or nothing waits for it.
void collective(const RankJob& job, std::vector<RankProgram>& programs, const std::vector<double>& ready,
                double alone_ns, double longer_ns, std::int64_t bytes) {
  const double duration_ns = job.free_transfers ? 0 : alone_ns + longer_ns;
  const double behind_ns = job.free_transfers ? alone_ns * job.interference_of_collectives : 0;
  std::vector<double> start(programs.size());
  double arrival = 0;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    start[r] = programs[r].arrive(ready[r]);
    arrival = std::max(arrival, start[r]);
  }
  for (std::size_t r = 0; r < programs.size(); ++r)
    programs[r].communicate(start[r], arrival + duration_ns, duration_ns, bytes, behind_ns);
}

// Gradients as they become ready on all ranks, reduced in buckets.
class Buckets {
 public:
  // `longer_ns`: by collective of the step, those without are not.
  Buckets(const RankJob& job, std::vector<RankProgram>& programs, RankRandom& random,
          const std::vector<double>& longer_ns)
      : job_(job), programs_(programs), random_(random), longer_ns_(longer_ns) {}

  void complete(const std::vector<double>& ready_ns, std::int64_t bytes, bool ends_layer) {
    ready_ns_ = ready_ns;
    open_bytes_ += bytes;
    if (job_.bucket_bytes > 0 ? open_bytes_ >= job_.bucket_bytes : ends_layer) reduce();
  }
  void finish() {
    if (open_bytes_ > 0) reduce();
  }

 private:
  void reduce() {
    const double noise = 1 + 0.01 * random_.uniform();
    const double longer_ns = count_ < longer_ns_.size() ? longer_ns_[count_] : 0;
    ++count_;
    collective(job_, programs_, ready_ns_, transfer_ns(job_, open_bytes_) * noise, longer_ns, open_bytes_);
    open_bytes_ = 0;
  }

  const RankJob& job_;
  std::vector<RankProgram>& programs_;
  RankRandom& random_;
  const std::vector<double>& longer_ns_;
  std::size_t count_ = 0;
  std::vector<double> ready_ns_;
  std::int64_t open_bytes_ = 0;
};

// `longer_ns`: so much longer than alone the step's collectives take, those of buckets in order.
void run_step(const RankJob& job, std::vector<RankProgram>& programs, int straggler, RankRandom& random,
              const std::vector<double>& longer_ns) {
  std::vector<double> ready(programs.size());
  for (std::size_t r = 0; r < programs.size(); ++r) programs[r].begin_step(static_cast<int>(r) == straggler);
  Buckets buckets(job, programs, random, longer_ns);
  const auto backward = [&](const KernelOf& kernel, std::int64_t bytes, bool ends_layer) {
    for (std::size_t r = 0; r < programs.size(); ++r) ready[r] = programs[r].backward(kernel);
    buckets.complete(ready, bytes, ends_layer);
  };
  for (int layer = 0; layer < job.layers; ++layer) {
    for (RankProgram& program : programs) program.begin_layer();
    std::int64_t left = kRankBucketBytes;
    for (std::size_t i = 0; i < kBackward.size(); ++i) {
      const bool last = i + 1 == kBackward.size();
      const auto share = static_cast<std::int64_t>(kGradientShare[i] * static_cast<double>(kRankBucketBytes));
      const std::int64_t bytes = last ? left : share;
      left -= bytes;
      backward(kBackward[i], bytes, last);
    }
  }
  if (job.embedding_bytes > 0) backward(kEmbeddingBackward, job.embedding_bytes, true);
  buckets.finish();
  for (std::size_t r = 0; r < programs.size(); ++r) ready[r] = programs[r].communication_end_ns();
  collective(job, programs, ready, kRankLatencyNs, 0, 8);
  for (RankProgram& program : programs) program.end_step();
}

// How much longer than alone the collectives of the step that was run take for kernels of any rank beside them.
std::vector<double> longer_beside(const RankJob& job, const std::vector<RankProgram>& programs) {
  std::vector<RanCopy> kernels;
  for (const RankProgram& program : programs) {
    for (const RanLaunch& launch : program.step().launches) {
      if (!launch.communicates) kernels.push_back({launch.start_ns, launch.end_ns});
    }
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const RanCopy& a, const RanCopy& b) { return a.start_ns < b.start_ns; });
  std::vector<double> longer;
  for (const RanLaunch& launch : programs.front().step().launches) {
    if (!launch.communicates) continue;
    double beside = 0;
    double at = launch.moves_from_ns;
    for (const RanCopy& kernel : kernels) {
      const double from = std::max(at, kernel.start_ns);
      const double to = std::min(launch.end_ns, kernel.end_ns);
      if (to <= from) continue;
      beside += to - from;
      at = to;
    }
    longer.push_back(beside * (1 - 1 / job.interference_of_collectives));
  }
  longer.pop_back();  // that of the norm
  return longer;
}

// Kernels beside a collective make it longer, and a longer one is beside more of them: to where neither changes.
void run_step(const RankJob& job, std::vector<RankProgram>& programs, int straggler, RankRandom& random) {
  if (job.interference_of_collectives == 1 || job.free_transfers)
    return run_step(job, programs, straggler, random, {});
  std::vector<double> longer;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    std::vector<RankProgram> tried(programs);
    RankRandom drawn = random;
    run_step(job, tried, straggler, drawn, longer);
    std::vector<double> then = longer_beside(job, tried);
    double change = longer.empty() ? 1e9 : 0;
    for (std::size_t i = 0; i < longer.size(); ++i) change = std::max(change, std::abs(then[i] - longer[i]));
    longer = std::move(then);
    if (change > 1) continue;
    programs.swap(tried);
    random = drawn;
    return;
  }
  throw std::runtime_error("the step's collectives and kernels do not settle");
}

void write_rank(const RankJob& job, int rank, const RankJobTruth& truth, const RankProgram& program,
                const std::vector<RanStep>& steps) {
  const auto at = static_cast<std::size_t>(rank);
  RankCapture capture(job, rank, truth.files.back(), truth.offset_ns[at], truth.drift_ppb[at]);
  RankRandom noise(job.seed * 31 + static_cast<std::uint64_t>(rank));
  double next_sample = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    capture.add(static_cast<int>(i), steps[i]);
    const double hz = program.clock_hz(truth.straggler[i] == rank);
    for (; job.clock_sample_ns > 0 && next_sample < steps[i].host_end_ns; next_sample += job.clock_sample_ns)
      capture.add_clock(next_sample, hz * (1 + 0.0005 * noise.uniform()));
  }
  capture.finish();
}

// A job when all its ranks have run.
struct RanJob {
  RankJobTruth truth;  // without files
  std::vector<RankProgram> programs;
  std::vector<std::vector<RanStep>> steps;  // of each rank
};

RanJob run_job(const RankJob& job) {
  RanJob result;
  RankJobTruth& truth = result.truth;
  truth.bucket_bytes = kRankBucketBytes;
  truth.transfer_ns = transfer_ns(job, kRankBucketBytes);
  RankRandom random(job.seed * 77'777);
  double offset = 0;
  double drift = 0;
  for (int rank = 0; rank < job.ranks; ++rank) {
    result.programs.emplace_back(job, rank);
    if (rank > 0 && rank % job.ranks_per_host == 0) {
      offset = job.clock_offset_ns * (2 * random.uniform() - 1);
      drift = job.clock_drift_ppb * (2 * random.uniform() - 1);
    }
    truth.offset_ns.push_back(offset);
    truth.drift_ppb.push_back(drift);
  }
  result.steps.resize(result.programs.size());
  std::vector<double> begins;
  for (int step = 0; step < job.steps + job.sampled_steps; ++step) {
    const bool late = job.cause != RankCause::none && (job.late_steps < 0 || step < job.late_steps);
    const int straggler = !late ? -1 : job.rotating ? step % job.ranks : job.straggler;
    truth.straggler.push_back(straggler);
    run_step(job, result.programs, straggler, random);
    for (std::size_t r = 0; r < result.programs.size(); ++r)
      result.steps[r].push_back(result.programs[r].step());
    begins.push_back(result.steps[0].back().host_start_ns);
  }
  std::vector<double> lengths;
  for (std::size_t i = 2; i < begins.size(); ++i) lengths.push_back(begins[i] - begins[i - 1]);
  for (const RankProgram& program : result.programs)
    truth.interference_ns += program.interference_ns() / (job.ranks * (job.steps + job.sampled_steps));
  truth.step_ns = upper_median(std::move(lengths));
  return result;
}

}  // namespace

RankJobTruth simulate_rank_job(const RankJob& job) {
  return run_job(job).truth;
}

RankJobTruth generate_rank_job(const RankJob& job, const std::string& directory) {
  RanJob ran = run_job(job);
  // Written rank by rank when all have run: a process has fewer files open at once than a job has ranks.
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (std::find(job.lost.begin(), job.lost.end(), rank) != job.lost.end()) continue;
    const auto at = static_cast<std::size_t>(rank);
    ran.truth.files.push_back(file_of(directory, rank));
    write_rank(job, rank, ran.truth, ran.programs[at], ran.steps[at]);
  }
  return std::move(ran.truth);
}

}  // namespace ridgeline::generate
