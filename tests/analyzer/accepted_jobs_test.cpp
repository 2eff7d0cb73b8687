// Jobs of many ranks drawn by lot: generated ones with planted stragglers, clocks and losses, of which rows are taken
// away or made otherwise; ranks whose captures hold whatever a capture can; and the parts that the answers are made of.
// All that is said of them is held.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "generate/rank_job.h"
#include "ranks/causes.h"
#include "ranks/collective_costs.h"
#include "ranks/interference.h"
#include "ranks/job_replay.h"
#include "ranks/link_fit.h"
#include "ranks/matching.h"
#include "ranks/own_time.h"
#include "ranks/readiness.h"
#include "ranks/rebucket.h"
#include "ranks/spans.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/analyzer/ranks/job_step.h"
#include "ridgeline/analyzer/ranks/job_what_if.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/order.h"
#include "support/accepted_cases.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using generate::RankCause;
using generate::RankJob;
using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;
using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::text_sum;
using ridgeline::testing::text_sum_in_hex;

// Of a list with more elements than fields() shows, all of them count.
template <typename Row>
std::string every_row(const char* name, const std::vector<Row>& rows) {
  std::uint64_t sum = text_sum({});
  for (const Row& row : rows) sum = text_sum(fields(row), sum);
  return fmt::format("{} {} {}\n", name, rows.size(), text_sum_in_hex(sum));
}

std::string job_rows_text(const store::Job& job) {
  return fields(job.ranks) + fields(job.clocks) + fields(job.communicators) + fields(job.sites) +
         fields(job.links) + "\n" + every_row("kernels", job.kernels) + every_row("steps", job.steps) +
         every_row("calls", job.calls) + every_row("kernel steps", job.kernel_steps) +
         every_row("traffic", job.traffic) + every_row("interference", job.interference);
}

std::string analysis_text(const JobAnalysis& analysis) {
  return fields(analysis) + "\n" + every_row("collectives", analysis.collectives) +
         every_row("mismatches", analysis.mismatches) + every_row("ranks", analysis.rank_costs) +
         every_row("steps", analysis.step_costs) + every_row("kernels", analysis.kernels) +
         every_row("beside", analysis.interference.kernels);
}

std::vector<JobChange> job_changes() {
  std::vector<JobChange> all;
  for (const double links : {0.5, 1.3, 10.0}) all.push_back({.text = "links", .links = links});
  for (const std::int64_t bytes : {1'000'000, 28'000'000, 60'000'000, 1'000'000'000})
    all.push_back({.text = "bucket", .bucket_bytes = bytes});
  all.push_back({.text = "overlap", .perfect_overlap = true});
  all.push_back({.text = "no-skew", .no_skew = true});
  all.push_back({.text = "several", .links = 2, .bucket_bytes = 57'000'000, .no_skew = true});
  return all;
}

std::string job_answers_text(const store::Job& job, const store::Job* alone = nullptr) {
  std::string text;
  const auto analysis = analyse_job(job, alone);
  text += analysis ? analysis_text(analysis.value()) : fields(analysis) + "\n";
  text += "what if: " + fields(what_if_job(job, job_changes())) + "\n";
  if (!analysis) return text;
  const std::int64_t telling = telling_step(analysis.value());
  for (const std::size_t rows : {std::size_t{100}, std::size_t{4}, std::size_t{1}}) {
    for (const std::int64_t step : {telling, analysis.value().steps.back(), std::int64_t{77}}) {
      const auto shown = job_step_rows(job, analysis.value(), step, rows);
      text += fields(shown) + "\n";
      if (!shown) continue;
      text += every_row("collectives", shown.value().collectives);
      for (const RankRow& row : shown.value().rows) text += every_row("calls", row.calls);
    }
  }
  return text;
}

store::Job job_of_files(const std::vector<std::string>& files) {
  std::vector<store::Job> parts;
  for (const std::string& file : files) parts.push_back(ranks_of(file).value());
  store::Job job = merged(std::move(parts)).value();
  align_clocks(job);
  return job;
}

RankJob drawn_options(Lots& lots) {
  RankJob job;
  job.ranks = static_cast<int>(lots.between(2, 9));
  job.ranks_per_host = static_cast<int>(lots.one_of<std::int64_t>({8, 2, 3, 1}));
  job.steps = static_cast<int>(lots.between(3, 7));
  job.layers = static_cast<int>(lots.between(1, 4));
  job.bucket_bytes = lots.one_of<std::int64_t>({0, 0, 1'000'000, 10'000'000, 40'000'000});
  job.embedding_bytes = lots.one_of<std::int64_t>({0, 150'000'000});
  job.links = lots.one_of({1.0, 0.2, 0.5});
  if (lots.one_in(3)) job.interference = lots.one_of({1.3, 1.9});
  if (lots.one_in(5)) job.interference_of_collectives = 1.5;
  job.cause = static_cast<RankCause>(lots.below(6));
  job.rotating = lots.one_in(3);
  job.straggler = static_cast<int>(lots.below(job.ranks));
  job.late_steps = static_cast<int>(lots.one_of<std::int64_t>({-1, -1, 1, 2}));
  job.late_ns = lots.one_of({60'000.0, 300'000.0, 1'500'000.0, 6'000'000.0});
  job.clock_offset_ns = lots.one_of({0.0, 4e6, 9e9});
  job.clock_drift_ppb = lots.one_of({0.0, 30'000.0});
  job.clock_sample_ns = lots.one_of({100e6, 1e6, 0.0});
  job.bytes_known = !lots.one_in(6);
  job.sampled_steps = lots.one_in(4) ? 1 : 0;
  if (lots.one_in(4) && job.ranks > 2) job.lost.push_back(static_cast<int>(lots.below(job.ranks)));
  if (lots.one_in(3)) job.reordered = static_cast<int>(lots.below(job.ranks));
  if (lots.one_in(3)) job.lost_calls = static_cast<int>(lots.below(job.ranks));
  job.seed = static_cast<std::uint64_t>(lots.between(1, 1'000'000));
  return job;
}

// The job with rows otherwise, of one kind after the other.
store::Job otherwise(store::Job job, Lots& lots) {
  const std::int64_t kind = lots.below(14);
  const auto some = [&](auto& rows, std::int64_t n, const auto& change) {
    for (auto& row : rows) {
      if (lots.one_in(n)) change(row);
    }
  };
  switch (kind) {
    case 0:  // other functions
      some(job.sites, 2,
           [&](store::JobSite& site) { site.function = static_cast<CollectiveFunction>(lots.below(7)); });
      break;
    case 1:
      for (store::JobSite& site : job.sites) site.function = CollectiveFunction::reduce_scatter;
      break;
    case 2:  // bytes of some are not known, or others
      some(job.sites, 2, [&](store::JobSite& site) {
        site.bytes = lots.one_in(2) ? std::nullopt : std::optional(lots.between(0, 1'000'000'000));
      });
      break;
    case 3: {  // every other call is on a second communicator
      const auto sites = static_cast<store::Id>(job.sites.size());
      job.communicators.push_back(
          {99, "second", lots.one_in(2) ? std::nullopt : std::optional<std::int64_t>(2), "tensor parallel"});
      for (store::Id i = 0; i < sites; ++i) {
        store::JobSite site = job.sites[static_cast<std::size_t>(i)];
        site.id = 100 + site.id;
        site.communicator_id = 99;
        job.sites.push_back(site);
      }
      for (store::JobCall& call : job.calls) {
        if (call.position % 2 == 1) call.site_id += 100;
      }
      break;
    }
    case 4:
      some(job.calls, 3, [](store::JobCall& call) { call.ready_offset_ns.reset(); });
      break;
    case 5:
      some(job.calls, 3, [](store::JobCall& call) { call.ordinal.reset(); });
      break;
    case 6: {  // a rank lacks a step, so that steps are two chains
      const std::int64_t rank = job.ranks.back().rank;
      const auto is_it = [&](const auto& row) { return row.rank == rank && row.step_index == 2; };
      std::erase_if(job.steps, is_it);
      std::erase_if(job.calls, is_it);
      std::erase_if(job.kernel_steps, is_it);
      break;
    }
    case 7:
      job.clocks.clear();
      break;
    case 8:
      some(job.clocks, 2, [](store::JobClock& clock) { clock.low_ns.reset(); });
      some(job.ranks, 3, [](store::JobRank& rank) { rank.host.reset(); });
      break;
    case 9:
      some(job.steps, 3, [&](store::JobStep& step) {
        step.beside_cost_ns.reset();
        if (lots.one_in(2)) step.beside_ns = 0;
        if (lots.one_in(4)) step.sm_clock_hz.reset();
      });
      break;
    case 10:  // kernels beside calls to their end, or not at all
      some(job.calls, 3, [&](store::JobCall& call) {
        call.hidden_ns = {};
        if (lots.one_in(2)) return;
        call.hidden_ns.push_back(0);
        call.hidden_ns.push_back(call.duration_ns);
      });
      break;
    case 11:
      some(job.calls, 4, [&](store::JobCall& call) { call.kernels_before_end += lots.between(-1, 2); });
      break;
    case 12: {
      store::Ceiling link;
      link.kind = "to_peer";
      link.value = 4e11;
      job.links = {link};
      link.kind = "from_peer";
      link.value = 4.5e11;
      job.links.push_back(link);
      for (const store::JobSite& site : job.sites) {
        store::JobTraffic row;
        row.rank = job.ranks.front().rank;
        if (site.id != 1) row.site_id = site.id;
        row.count = lots.between(1, 4);
        row.time_ns = 1'000'000;
        row.bytes.nvlink_sent_bytes = 1e6 * static_cast<double>(lots.between(1, 99));
        if (lots.one_in(2)) row.bytes.pcie_received_bytes = 4096;
        job.traffic.push_back(row);
      }
      break;
    }
    default:
      some(job.calls, 3,
           [&](store::JobCall& call) { call.start_offset_ns += lots.between(-200'000, 200'000); });
      break;
  }
  return job;
}

std::string generated_job_text(std::uint64_t seed, int variants) {
  Lots lots(seed);
  const TemporaryDirectory directory, of_one;
  const RankJob options = drawn_options(lots);
  const store::Job job = job_of_files(generate::generate_rank_job(options, directory.path()).files);
  RankJob one = options;
  one.ranks = 1;
  one.lost.clear();
  one.straggler = 0;
  const store::Job alone = ranks_of(generate::generate_rank_job(one, of_one.path()).files.front()).value();
  std::string text = job_rows_text(job) + job_answers_text(job, &alone);
  for (int i = 0; i < variants; ++i) {
    store::Job other = otherwise(job, lots);
    if (lots.one_in(2)) other = otherwise(std::move(other), lots);
    if (lots.one_in(2)) align_clocks(other);
    text += fields(other.clocks) + job_answers_text(other);
  }
  return text;
}

class DrawnJobs : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DrawnJobs, OfGeneratedRanksAreAnswered) {
  for (std::uint64_t i = 0; i < 4; ++i)
    AcceptedCases::expect([&] { return generated_job_text(GetParam() + i, i == 0 ? 1 : 5); });
}
INSTANTIATE_TEST_SUITE_P(Seeds, DrawnJobs, ::testing::Values(1, 101, 201, 301));

// What all ranks do in a step, one after the other.
struct RankAction {
  enum Kind { kernel, collective, copy, memset, gap } kind = kernel;
  std::int64_t name = 0, length_ns = 0, blocks = 1, bytes = 0;
  std::size_t communicator = 0;
  bool known = true, waited = false, graph = false;
  CollectiveFunction function = CollectiveFunction::all_reduce;
  CopyKind direction = CopyKind::host_to_device;
};

struct RankPlan {
  std::vector<RankAction> actions;
  std::int64_t steps = 4, sampled = 0, world = 4;
  std::vector<std::int64_t> indices;  // of the steps
  int world_known = 0;
  bool hashes = true, clocks = true, hosts = true, edges = false;
};

RankPlan drawn_plan(Lots& lots) {
  RankPlan plan;
  plan.steps = lots.between(1, 6);
  std::int64_t index = lots.below(3);
  for (std::int64_t i = 0; i < plan.steps; ++i) {
    plan.indices.push_back(index);
    index += lots.one_in(5) ? 3 : 1;
  }
  plan.sampled = lots.one_in(2) ? lots.between(1, 2) : 0;
  plan.world = lots.between(2, 6);
  plan.world_known = static_cast<int>(lots.below(6));
  plan.hashes = !lots.one_in(4);
  plan.clocks = !lots.one_in(3);
  plan.hosts = !lots.one_in(4);
  plan.edges = lots.one_in(2);
  const std::int64_t count = lots.between(5, 16);
  for (std::int64_t i = 0; i < count; ++i) {
    RankAction action;
    action.kind = static_cast<RankAction::Kind>(lots.one_of<std::int64_t>({0, 0, 0, 0, 1, 1, 1, 2, 3, 4}));
    action.name = lots.below(4);
    action.length_ns = 1000 * lots.between(2, 200);
    action.blocks = lots.between(1, 500);
    action.bytes = lots.one_of<std::int64_t>({8, 4096, 65'535, 65'536, 1'000'000, 90'000'000});
    action.communicator = static_cast<std::size_t>(lots.below(4) / 3);
    action.known = !lots.one_in(4);
    action.waited = lots.one_in(2);
    action.graph = lots.one_in(4);
    action.function = static_cast<CollectiveFunction>(lots.one_in(2) ? 0 : lots.below(7));
    action.direction = static_cast<CopyKind>(lots.below(6));
    plan.actions.push_back(action);
  }
  return plan;
}

const char* const kCollectiveKernels[] = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    "ncclDevKernel_AllGather_RING_LL",         "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL",
    "ncclDevKernel_Broadcast_RING_LL",         "ncclDevKernel_SendRecv"};

// The capture of a rank that does what the plan says, now and then something else.
class DrawnRank {
 public:
  DrawnRank(std::uint64_t seed, const RankPlan& plan, std::int64_t rank, const std::string& path)
      : lots_(seed), plan_(plan), rank_(rank), writer_(store::CaptureWriter::create(path).value()) {
    at_ns_ = 1'000'000'000 + lots_.below(5'000'000);
    add_facts();
    for (std::int64_t i = 0; i < plan.steps; ++i)
      add_step(plan.indices[static_cast<std::size_t>(i)], Phase::timeline);
    for (std::int64_t i = 0; i < plan.sampled; ++i) add_step(plan.indices.back() + 1 + i, Phase::sample);
    writer_.finish();
  }

 private:
  void add_facts() {
    store::Run run{.command_line = "train --rank " + std::to_string(rank_),
                   .ridgeline_version = "test",
                   .clock = "test"};
    if (plan_.hosts) run.host_name = "run" + std::to_string(rank_ / 2);
    writer_.set_run(run);
    const std::string world = std::to_string(plan_.world);
    if (plan_.world_known == 0) writer_.add_environment("WORLD_SIZE", world);
    if (plan_.world_known == 1) writer_.add_environment("OMPI_COMM_WORLD_SIZE", world);
    if (plan_.world_known == 2) writer_.add_environment("PMI_SIZE", world + "x");
    if (plan_.world_known == 3) writer_.add_environment("WORLD_SIZE", "1000001");
    store::Process process{.pid = 100 + rank_, .command = "train", .rank = static_cast<int>(rank_)};
    process_ = writer_.add(process);
    if (plan_.hosts && lots_.one_in(2)) writer_.set_host(process_, "host" + std::to_string(rank_ / 2));
    device_ = writer_.add(store::Device{.device_index = 0, .name = "GPU"});
    if (lots_.one_in(3))
      writer_.add(store::Ceiling{.device_id = device_,
                                 .level = lots_.one_in(2) ? CeilingLevel::nvlink : CeilingLevel::dram,
                                 .kind = "to_peer",
                                 .value = 4e11,
                                 .unit = "bytes_per_s"});
    for (std::int64_t i = 0; i < 2; ++i) {
      store::Communicator group{.process_id = process_};
      if (plan_.hashes) group.hash = i == 0 ? "world" : "pair" + std::to_string(rank_ / 2);
      if (plan_.world_known != 5) group.ranks = i == 0 ? plan_.world : 2;
      if (lots_.one_in(3)) group.name = "group";
      communicators_.push_back(writer_.add(group));
    }
    if (!plan_.edges) return;
    for (const auto& [from, to] : {std::pair{1, 2}, {2, 3}, {3, 4}, {1, 4}, {4, 5}, {6, 5}, {5, 7}, {7, 8}})
      writer_.add(store::GraphEdge{.process_id = process_, .from_node_id = from, .to_node_id = to});
  }

  void add_step(std::int64_t index, Phase phase) {
    store::Step step{.process_id = process_, .step_index = index, .phase = phase};
    if (lots_.one_in(30)) step.status = StepStatus::mismatch;
    step_ = writer_.add(step);
    const std::int64_t from_ns = at_ns_;
    ordinal_ = node_ = 0;
    ++graph_launch_;
    for (const RankAction& planned : plan_.actions) {
      if (lots_.one_in(40)) continue;
      RankAction action = planned;
      if (lots_.one_in(50)) action = plan_.actions.front();
      add(action);
      if (lots_.one_in(60)) add(action);
    }
    if (plan_.clocks) {
      for (std::int64_t at = from_ns; at < at_ns_; at += 200'000 * lots_.between(1, 9))
        writer_.add(store::ClockSample{
            .device_id = device_, .time_ns = at, .sm_clock_hz = 1'700'000'000 - 1'000'000 * lots_.below(90)});
    }
    if (phase == Phase::sample) add_samples(from_ns);
    at_ns_ += lots_.one_in(4) ? 600'000'000 : lots_.between(0, 50'000);
  }

  void add(const RankAction& action) {
    const std::int64_t length = action.length_ns * (100 + lots_.below(5)) / 100;
    switch (action.kind) {
      case RankAction::kernel:
        add_launch(action, writer_.kernel_id("compute_" + std::to_string(action.name)), at_ns_, length, 7);
        at_ns_ += length + 300 * lots_.below(4);
        break;
      case RankAction::collective: {
        const std::int64_t start = std::max(at_ns_, communicated_ns_) + 1000 * lots_.below(3);
        const std::size_t other = lots_.one_in(40) ? 1 : 0;
        const auto name = (static_cast<std::size_t>(action.function) + other) % std::size(kCollectiveKernels);
        const store::Id id =
            add_launch(action, writer_.kernel_id(kCollectiveKernels[name]), start, length, 21);
        communicated_ns_ = start + length;
        if (action.known) {
          store::Collective call{.launch_id = id, .function = action.function};
          if (!lots_.one_in(15)) call.communicator_id = communicators_[action.communicator];
          if (!lots_.one_in(15)) call.bytes = action.bytes;
          if (!lots_.one_in(9)) call.ordinal = calls_;
          writer_.add(call);
        }
        ++calls_;
        if (action.waited) at_ns_ = communicated_ns_ + 500;
        break;
      }
      case RankAction::copy: {
        store::Memcpy row{.kind = action.direction};
        fill(row, length);
        writer_.add(row);
        break;
      }
      case RankAction::memset: {
        store::Memset row;
        fill(row, length);
        writer_.add(row);
        break;
      }
      case RankAction::gap:
        at_ns_ += length;
        break;
    }
  }

  template <typename Row>
  void fill(Row& row, std::int64_t length) {
    row.process_id = process_;
    row.device_id = device_;
    row.stream_id = 30;
    row.correlation_id = ++correlation_;
    row.bytes = 4096;
    row.start_ns = at_ns_ - length / 2;
    row.end_ns = lots_.one_in(20) ? row.start_ns - 1 : row.start_ns + length;
    if (!lots_.one_in(9)) row.step_id = step_;
    at_ns_ = std::max(at_ns_, lots_.one_in(2) ? row.end_ns : 0);
  }

  store::Id add_launch(const RankAction& action, store::Id kernel, std::int64_t start_ns, std::int64_t length,
                       std::int64_t stream) {
    store::Launch launch;
    launch.process_id = process_;
    launch.device_id = device_;
    launch.context_id = 1;
    launch.stream_id = stream;
    launch.correlation_id = ++correlation_;
    launch.kernel_id = kernel;
    launch.start_ns = start_ns;
    launch.end_ns = start_ns + length;
    if (!lots_.one_in(12)) launch.host_start_ns = start_ns - 1000 * lots_.between(1, 40);
    launch.grid.x = action.blocks + (lots_.one_in(50) ? 1 : 0);
    launch.grid.y = action.blocks % 7 == 0 ? 3 : 1;
    launch.block.x = 128;
    launch.registers_per_thread = 32;
    launch.step_id = step_;
    launch.ordinal_in_step = ordinal_++;
    if (action.graph) {
      launch.graph_id = 1;
      launch.graph_node_id = 1 + node_++ % 8;
      launch.correlation_id = 1'000'000 + graph_launch_;
    }
    if (lots_.one_in(70)) launch.start_ns = launch.end_ns = 0;
    if (lots_.one_in(90)) launch.end_ns = launch.start_ns - 1;
    return writer_.add(launch);
  }

  void add_samples(std::int64_t from_ns) {
    std::vector<const char*> metrics = {"nvltx__bytes_data_user.sum", "nvlrx__bytes_data_user.sum"};
    if (lots_.one_in(2)) metrics.push_back("pcie__read_bytes.sum");
    constexpr std::int64_t kInterval = 8'000;
    store::PmWindow window;
    window.process_id = process_;
    window.device_id = device_;
    window.interval_ns = kInterval;
    window.start_ns = from_ns;
    window.end_ns = at_ns_;
    for (std::int64_t at = from_ns; at < at_ns_ && window.sample_count < 300; at += kInterval) {
      ++window.sample_count;
      for (const char* metric : metrics)
        writer_.add(store::PmSample{device_, at, writer_.metric_id(metric, "bytes"),
                                    static_cast<double>(lots_.below(100'000))});
    }
    writer_.add(window);
  }

  Lots lots_;
  const RankPlan& plan_;
  std::int64_t rank_;
  store::CaptureWriter writer_;
  store::Id process_ = 0, device_ = 0, step_ = 0;
  std::vector<store::Id> communicators_;
  std::int64_t at_ns_ = 0, communicated_ns_ = 0, correlation_ = 0, calls_ = 0, ordinal_ = 0, node_ = 0,
               graph_launch_ = 0;
};

std::string drawn_ranks_text(std::uint64_t seed) {
  Lots lots(seed);
  const TemporaryDirectory directory;
  const RankPlan plan = drawn_plan(lots);
  std::vector<store::Job> parts;
  std::string text;
  const std::int64_t ranks = lots.between(2, 4);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::string path = directory.file("rank" + std::to_string(rank) + ".ridge");
    // Most do the same at other times; some have drawn the plan's mishaps anew.
    static_cast<void>(DrawnRank(seed * 100 + static_cast<std::uint64_t>(rank), plan, rank, path));
    auto part = ranks_of(path);
    text += part ? job_rows_text(part.value()) : fields(part) + "\n";
    if (part) parts.push_back(std::move(part).value());
  }
  lots.shuffle(parts);
  auto whole = merged(std::move(parts));
  if (!whole) return text + fields(whole) + "\n";
  store::Job job = std::move(whole).value();
  align_clocks(job);
  return text + job_rows_text(job) + job_answers_text(job);
}

class DrawnRanks : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DrawnRanks, AreReadMergedAndAnswered) {
  for (std::uint64_t i = 0; i < 9; ++i)
    AcceptedCases::expect([&] { return drawn_ranks_text(GetParam() + i); });
}
INSTANTIATE_TEST_SUITE_P(Seeds, DrawnRanks, ::testing::Values(1, 101));

// Merging refuses what does not belong together, whichever of two differs and in what.
TEST(DrawnMerges, SayWhatDoesNotBelongTogether) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 20 * sum; seed < 20 * sum + 20; ++seed) {
        Lots lots(seed);
        std::vector<store::Job> parts;
        const std::int64_t count = lots.between(0, 4);
        for (std::int64_t i = 0; i < count; ++i) {
          store::Job part;
          const std::int64_t ranks = lots.one_in(9) ? 0 : lots.between(1, 2);
          const std::string group = lots.one_in(6) ? "other" : "world";
          const std::int64_t size = lots.one_in(4) ? 3 : 8;
          part.communicators = {{1, group, size, {}}, {2, "part" + std::to_string(i), 2, {}}};
          part.sites = {{1, 1, CollectiveFunction::all_reduce, 64}, {2, 2, {}, {}}};
          part.kernels = {{1, "kernel " + std::to_string(3 - i)}, {2, "a"}};
          for (std::int64_t k = 0; k < ranks; ++k) {
            store::JobRank rank;
            rank.rank = lots.one_in(9) ? lots.between(-1, 8) : 2 * i + k;
            rank.program = lots.one_in(12) ? "serve" : "train";
            rank.file = "file" + std::to_string(i);
            rank.world_size = 8;
            if (lots.one_in(12))
              rank.world_size = lots.one_in(2) ? std::nullopt : std::optional<std::int64_t>(4);
            store::JobStep step;
            step.rank = rank.rank;
            part.steps.push_back(step);
            store::JobCall call;
            call.rank = rank.rank;
            call.site_id = lots.between(1, 2);
            part.calls.push_back(call);
            store::JobKernelStep row;
            row.rank = rank.rank;
            row.kernel_id = lots.between(1, 2);
            part.kernel_steps.push_back(row);
            store::JobTraffic traffic;
            traffic.rank = rank.rank;
            if (lots.one_in(2)) traffic.site_id = 1;
            part.traffic.push_back(traffic);
            store::JobInterference beside;
            beside.rank = rank.rank;
            beside.kernel_id = 1;
            part.interference.push_back(beside);
            part.ranks.push_back(rank);
          }
          parts.push_back(part);
        }
        const auto whole = merged(parts);
        text += whole ? job_rows_text(whole.value()) + fields(missing_ranks(whole.value())) : fields(whole);
        text += "\n";
      }
      return text;
    });
  }
}

// Steps of a chain as a replay has them, with whatever a call can have.
ranks::StepChain drawn_chain(Lots& lots) {
  ranks::StepChain chain;
  const std::int64_t ranks = lots.between(2, 5), steps = lots.between(1, 4), groups = lots.between(1, 3);
  chain.groups = static_cast<std::size_t>(groups);
  const bool contended = lots.one_in(2);
  for (std::int64_t r = 0; r < ranks; ++r) chain.lost.push_back(contended && !lots.one_in(4) ? 0.3 : 0);
  std::vector<double> own(static_cast<std::size_t>(ranks));
  for (std::int64_t i = 0; i < steps; ++i) {
    ranks::ReplayedStep step;
    step.place = static_cast<std::size_t>(i);
    step.begin = own;
    const std::int64_t calls = lots.between(0, 9);
    double at = 0;
    for (std::int64_t c = 0; c < calls; ++c) {
      at += static_cast<double>(lots.between(0, 90'000));
      ranks::ReplayedCall call;
      call.group = static_cast<std::size_t>(lots.below(groups));
      call.communicator_id = static_cast<store::Id>(call.group) + 1;
      if (!lots.one_in(9))
        call.function = static_cast<CollectiveFunction>(lots.one_in(4) ? lots.below(7) : 0);
      if (!lots.one_in(9))
        call.bytes = lots.one_of<std::int64_t>({8, 65'535, 65'536, 65'537, 900'000, 1'000'000, 5'000'000});
      call.all_wait = !lots.one_in(5);
      call.transfer_ns = static_cast<double>(lots.between(0, 120'000));
      if (contended && lots.one_in(2)) call.lost = 0.25;
      call.beside_ns =
          std::floor(call.transfer_ns * lots.one_of({0.0, 0.04, 0.05, 0.06, 0.4, 0.5, 0.6, 1.0}));
      call.beside_ratio = 0.5;
      for (std::int64_t r = 0; r < ranks; ++r) {
        ranks::ReplayedCall::OfRank of;
        of.there = !lots.one_in(20);
        of.ready_known = !lots.one_in(30);
        if (!lots.one_in(3)) of.beside_ratio = static_cast<float>(lots.between(0, 4)) / 4;
        const double base = own[static_cast<std::size_t>(r)] + at;
        of.ready = base + static_cast<double>(lots.between(-3'000, 9'000));
        of.after_ready_ns = static_cast<double>(lots.between(0, 4'000));
        of.after_queue_ns = static_cast<double>(lots.between(0, 2'000));
        of.alone_ns = call.transfer_ns + static_cast<double>(lots.between(0, 9'000));
        if (lots.one_in(3)) of.stops = of.ready + static_cast<double>(lots.between(-1'500, 60'000));
        if (!of.stops && lots.one_in(3)) of.may_stop = of.ready + 20'000;
        call.ranks.push_back(of);
      }
      step.calls.push_back(call);
    }
    for (double& time : own) time += at + static_cast<double>(lots.between(0, 80'000));
    step.end = own;
    chain.steps.push_back(step);
  }
  return chain;
}

std::string chain_text(const ranks::StepChain& chain) {
  std::string text;
  for (const ranks::ReplayedStep& step : chain.steps) {
    text += every_row("calls", step.calls);
    for (const ranks::BucketRun& run : ranks::bucket_runs(step)) text += fields(run.calls);
  }
  return text + fields(ranks::simulated(chain)) + "\n";
}

std::string replays_text(std::uint64_t seed) {
  Lots lots(seed);
  ranks::StepChain chain = drawn_chain(lots);
  std::string text = chain_text(chain);
  store::Job job;
  job.communicators = {{1, "first", 4, {}}, {2, "second", {}, {}}, {3, "third", 2, {}}};
  const ranks::JobView view(job);
  for (const bool contention : {false, true}) {
    std::vector<ranks::StepChain> chains = {chain};
    const ranks::LinkFits fits(view, chains, contention);
    text += fields(fits.all()) + fields(fits.any_slowed());
    fits.take_out_kernels(chains);
    for (const ranks::ReplayedCall& call : chains.front().steps.front().calls)
      text += fields(fits.time_ns(call, 2e6)) + fields(fits.latency_ns(call));
    text += chain_text(chains.front());
    for (const std::int64_t bytes : {60'000, 900'000, 990'000, 2'000'000, 90'000'000}) {
      text += fields(ranks::can_rebucket(chain, bytes));
      for (const ranks::BucketFill fill : {ranks::BucketFill::evenly, ranks::BucketFill::late}) {
        ranks::StepChain other = chains.front();
        for (ranks::ReplayedStep& step : other.steps) ranks::rebucket(step, bytes, fill, fits);
        text += chain_text(other);
      }
    }
  }
  const ranks::EvenTimes even(chain);
  ranks::StepChain evened = chain, waited = chain, unwaited = chain;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    even.apply(i, evened.steps[i]);
    ranks::take_hidden_as_waited(waited.steps[i]);
    for (ranks::ReplayedCall& call : unwaited.steps[i].calls) {
      call.unwaited_ns = call.transfer_ns;
      call.transfer_ns = 0;
    }
  }
  return text + chain_text(evened) + chain_text(waited) + chain_text(unwaited);
}

TEST(DrawnReplays, TakeWhatTheyTook) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 3 * sum; seed < 3 * sum + 3; ++seed) text += replays_text(seed);
      return text;
    });
  }
}

// A job row by row, on the edges of what is asked of rows: calls that follow each other closely, waits of all lengths,
// ranks that are late by about what is named, steps and calls that some ranks do not have.
store::Job drawn_rows(Lots& lots) {
  store::Job job;
  const std::int64_t ranks = lots.between(2, 7), steps = lots.between(1, 10), sites = lots.between(1, 5);
  const std::int64_t groups = lots.between(1, 2), per_host = lots.between(1, 4), kernels = lots.between(1, 3);
  for (std::int64_t g = 1; g <= groups; ++g) {
    store::JobCommunicator group;
    group.id = g;
    group.hash = "group" + std::to_string(g);
    if (!lots.one_in(4)) group.ranks = g == 1 ? ranks : 2;
    job.communicators.push_back(group);
  }
  for (std::int64_t s = 1; s <= sites; ++s) {
    store::JobSite site;
    site.id = s;
    site.communicator_id = lots.between(1, groups);
    if (!lots.one_in(6)) site.function = static_cast<CollectiveFunction>(lots.one_in(3) ? lots.below(7) : 0);
    if (!lots.one_in(6))
      site.bytes = lots.one_of<std::int64_t>({0, 8, 65'535, 65'536, 4'000'000, 16'000'000});
    job.sites.push_back(site);
  }
  for (std::int64_t k = 1; k <= kernels; ++k) job.kernels.push_back({k, "kernel " + std::to_string(k)});
  std::vector<std::int64_t> offsets;
  for (std::int64_t host = 0; host <= ranks; ++host)
    offsets.push_back(lots.one_of<std::int64_t>({0, 0, 5'000'000, -900'000'000, 3'000'000'000}));
  const std::int64_t drift_ppm = lots.one_of<std::int64_t>({0, 0, 30, 499, 502});
  // What all do in a step: from its beginning, how long the last rank is in it.
  struct Planned {
    std::int64_t site, start, length;
  };
  std::vector<Planned> plan;
  const std::int64_t calls = lots.between(0, 7);
  std::int64_t at = 0;
  for (std::int64_t c = 0; c < calls; ++c) {
    at += lots.one_of<std::int64_t>({999, 1'000, 1'001, 2'500, 19'999, 20'000, 20'001, 90'000, 300'000});
    const std::int64_t length = lots.one_of<std::int64_t>({8'000, 30'000, 120'000});
    plan.push_back({lots.between(1, sites), at, length});
    at += lots.one_in(5) ? length / 2 : length;
    if (lots.one_in(4)) at -= lots.one_of<std::int64_t>({1'998, 1'999, 2'000, 2'001, 3'500});
  }
  const std::int64_t step_ns = at + lots.between(10'000, 1'000'000);
  // No jitter: calls follow each other by what was drawn, and kernels run beside them until the last rank enters.
  const bool exact = lots.one_in(3);
  const bool clocks = !lots.one_in(4), besides = !lots.one_in(4), ready = !lots.one_in(4);
  const std::int64_t late_every = lots.one_of<std::int64_t>({0, 1, 2, 4}), late_rank = lots.below(ranks);
  const std::int64_t late_ns = step_ns * lots.one_of<std::int64_t>({19, 20, 21, 29, 31, 90}) / 1000;
  for (std::int64_t r = 0; r < ranks; ++r) {
    store::JobRank rank;
    rank.rank = lots.one_in(2 * ranks) && r > 0 && r + 1 == ranks ? r + 1 : r;
    const std::int64_t host = r / per_host;
    if (!lots.one_in(20)) rank.host = "host" + std::to_string(host);
    rank.program = "train";
    rank.file = "rank" + std::to_string(r);
    if (ranks != 3) rank.world_size = ranks + (rank.rank == r ? 0 : 1);
    const std::int64_t offset = offsets[static_cast<std::size_t>(host)];
    std::int64_t index = 0;
    for (std::int64_t s = 0; s < steps; ++s) {
      index += s > 0 && s % 4 == 3 ? 2 : s > 0;
      if (lots.one_in(60)) continue;
      const std::int64_t true_start = 1'000'000'000 + s * (step_ns + 50'000);
      const bool late =
          late_every > 0 && s % late_every == 0 && (r == (late_every == 2 ? s % ranks : late_rank));
      store::JobStep step;
      step.rank = rank.rank;
      step.step_index = index;
      const std::int64_t drifted = host == 0 ? 0 : true_start * drift_ppm / 1'000'000;
      step.start_ns = true_start + offset + drifted + lots.below(300);
      step.duration_ns = step_ns + (late ? late_ns : 0) + lots.below(200);
      step.exposed_ns = lots.below(step_ns / 3 + 1);
      step.copy_ns = lots.one_in(3) ? lots.below(step_ns / 9 + 1) : 0;
      step.copy_beside_ns = lots.one_in(3) ? step.exposed_ns / 2 : 0;
      step.idle_ns = 500 + (late && r % 2 == 0 ? late_ns : 0);
      step.compute_ns = step.duration_ns - step.exposed_ns - step.copy_ns - step.idle_ns;
      step.communication_ns = step.exposed_ns + lots.below(1000);
      step.launches = lots.one_in(9) ? 11 : 10;
      if (clocks) {
        step.sm_clock_hz = 1.7e9 - 1e6 * static_cast<double>(lots.below(20));
        step.clock_samples = lots.below(3);
      }
      if (besides) {
        step.beside_ns = lots.one_in(9) ? 0 : lots.between(1'000, 90'000);
        step.beside_controlled_ns = *step.beside_ns * 3 / 4;
        step.beside_cost_ns = static_cast<double>(*step.beside_controlled_ns) * 0.2 + 100 * lots.around();
        if (lots.one_in(80)) step.beside_cost_ns.reset();
      }
      for (std::size_t c = 0; c < plan.size(); ++c) {
        if (lots.one_in(70)) continue;
        store::JobCall call;
        call.rank = rank.rank;
        call.step_index = index;
        call.position = static_cast<std::int64_t>(c);
        call.site_id = lots.one_in(90) ? lots.between(1, sites) : plan[c].site;
        if (!lots.one_in(8)) call.ordinal = s * calls + static_cast<std::int64_t>(c);
        const std::int64_t waits = lots.one_of<std::int64_t>({0, 200, 1'000, 9'000, 60'000});
        const std::int64_t wait = late || (exact && c % 2 == 1) ? 0 : waits;
        call.start_offset_ns = std::max<std::int64_t>(0, plan[c].start - wait);
        call.duration_ns =
            plan[c].start - call.start_offset_ns + plan[c].length + (exact ? 0 : lots.below(100));
        call.kernels_before_end = (exact ? 3 : static_cast<std::int64_t>(c)) + (lots.one_in(25) ? 1 : 0);
        std::int64_t left = call.duration_ns;
        if (exact && wait > 0) {
          call.hidden_ns.push_back(0);
          call.hidden_ns.push_back(wait);
        }
        const std::int64_t pieces = exact ? 0 : lots.below(4);
        for (std::int64_t p = 0; p < pieces; ++p) {
          const std::int64_t piece = lots.one_in(4) ? left : lots.below(left / 2 + 1);
          call.hidden_ns.push_back(piece);
          left -= piece;
        }
        if (ready && !lots.one_in(25))
          call.ready_offset_ns = call.start_offset_ns - lots.between(-1'000, 20'000);
        job.calls.push_back(call);
      }
      for (std::int64_t k = 1; k <= kernels; ++k) {
        if (lots.one_in(40)) continue;
        store::JobKernelStep row;
        row.rank = rank.rank;
        row.step_index = index;
        row.kernel_id = k;
        row.launches = lots.one_in(9) ? 4 : 3;
        row.blocks = lots.one_in(25) ? 0 : 100 * row.launches;
        row.time_ns = step.compute_ns / kernels;
        job.kernel_steps.push_back(row);
      }
      job.steps.push_back(step);
    }
    if (lots.one_in(2)) {
      store::JobInterference row;
      row.rank = rank.rank;
      row.kernel_id = 1;
      if (lots.one_in(2)) row.function = CollectiveFunction::all_reduce;
      row.launches = lots.between(1, 9);
      row.compared = lots.below(row.launches + 1);
      row.controls = 2 * row.compared;
      row.beside_ns = lots.between(1'000, 90'000);
      row.controlled_ns = row.compared > 0 ? row.beside_ns / 2 : 0;
      row.cost_ns = static_cast<double>(lots.between(-9'000, 50'000));
      job.interference.push_back(row);
    }
    job.ranks.push_back(rank);
  }
  return job;
}

std::string drawn_rows_text(std::uint64_t seed) {
  Lots lots(seed);
  store::Job job = drawn_rows(lots);
  align_clocks(job);
  std::string text = job_rows_text(job) + job_answers_text(job);
  const ranks::JobView view(job);
  const ranks::Matching matching = ranks::match_calls(view);
  const ranks::CollectiveCosts costs = ranks::collective_costs(view, matching);
  text += every_row("matched", matching.collectives) + every_row("costs", costs.rows) +
          every_row("parts", costs.parts) + fields(costs.times_last) + fields(costs.told);
  const std::vector<double> none(view.ranks(), 0), some(view.ranks(), 0.2);
  for (const auto* lost : {&none, &some}) {
    for (const ranks::StepChain& chain : ranks::recorded_chains(view, matching, costs, *lost))
      text += chain_text(chain);
  }
  return text;
}

TEST(DrawnRows, AreAnswered) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 5 * sum; seed < 5 * sum + 5; ++seed) text += drawn_rows_text(seed);
      return text;
    });
  }
}

// Ranks that compute and nothing else; `late_ns` of a rank in a step.
store::Job plain_job(std::int64_t ranks, std::int64_t steps,
                     const std::function<std::int64_t(std::int64_t, std::int64_t)>& late_ns) {
  store::Job job;
  job.kernels = {{1, "a"}, {2, "b"}};
  for (std::int64_t r = 0; r < ranks; ++r) {
    job.ranks.push_back({.rank = r, .host = "host", .program = "train", .world_size = ranks, .file = "file"});
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t late = late_ns(r, s);
      store::JobStep step;
      step.rank = r;
      step.step_index = s;
      step.start_ns = 1'000'000'000 + s * 3'000'000;
      step.compute_ns = 900'000 + (r % 2 == 1 ? late : 0);
      step.idle_ns = 100'000 + (r % 2 == 0 ? late : 0);
      step.duration_ns = step.compute_ns + step.idle_ns;
      step.launches = 9;
      step.sm_clock_hz = 1.7e9;
      job.steps.push_back(step);
      job.kernel_steps.push_back({r, s, 1, 4, 400, step.compute_ns / 2});
      job.kernel_steps.push_back({r, s, 2, 5, 500, step.compute_ns - step.compute_ns / 2});
    }
  }
  return job;
}

std::string late_text(const store::Job& job) {
  const JobAnalysis analysis = analyse_job(job).value();
  std::string text = fields(analysis.recurrence) + " " + fields(analysis.straggler) + " " +
                     fields(analysis.late_steps) + " " + fields(analysis.cause) + " " +
                     fields(analysis.late_threshold_ns) + " " + fields(telling_step(analysis));
  for (const RankCost& rank : analysis.rank_costs)
    text += " " + fields(rank.late_steps) + fields(rank.cause) + fields(rank.parts);
  return text + "\n";
}

TEST(LateRanks, AreNamedFromTheLimitOn) {
  AcceptedCases::expect([] {
    std::string text;
    for (const std::int64_t ranks : {2, 3, 4, 5, 6}) {
      for (const std::int64_t late : {19'999, 20'000, 20'001, 29'999, 30'000, 30'001, 30'450, 30'460}) {
        const auto always = [&](std::int64_t rank, std::int64_t) { return rank == 1 ? late : 0; };
        text += fmt::format("{} ranks, {} ns: ", ranks, late) + late_text(plain_job(ranks, 3, always));
      }
    }
    return text;
  });
}

TEST(LateRanks, AreOneOrSeveralOrFewByTheirShareOfTheSteps) {
  AcceptedCases::expect([] {
    std::string text;
    for (std::int64_t late_steps = 0; late_steps <= 10; ++late_steps) {
      for (std::int64_t of_one = 0; of_one <= late_steps; ++of_one) {
        const auto late = [&](std::int64_t rank, std::int64_t step) {
          return step < late_steps && rank == (step < of_one ? 1 : 2) ? 100'000 : 0;
        };
        text += fmt::format("{} of {}: ", of_one, late_steps) + late_text(plain_job(4, 10, late));
      }
    }
    return text;
  });
}

TEST(LateRanks, HaveTheCauseThatIsMostOfIt) {
  AcceptedCases::expect([] {
    std::string text;
    for (int most = 0; most < 7; ++most) {
      for (const double share : {0.3, 0.59, 0.6, 0.61, 1.0, 1.5}) {
        double parts[7];
        for (int i = 0; i < 7; ++i) parts[i] = i == most ? share * 1000 : (1 - share) * 1000 / 6;
        text += fields(ranks::cause_of({.more_work_ns = parts[0],
                                        .more_cycles_ns = parts[1],
                                        .lower_clock_ns = parts[2],
                                        .slower_kernels_ns = parts[3],
                                        .host_gaps_ns = parts[4],
                                        .copies_ns = parts[5],
                                        .rest_ns = parts[6]})) +
                " ";
      }
    }
    return text;
  });
}

// Two ranks, one of which enters later: transfer, skew or both by their shares of the time.
TEST(CollectivesOfTwoRanks, AreTransferOrSkewByTheirShares) {
  AcceptedCases::expect([] {
    std::string text;
    for (const std::int64_t longer :
         {100, 104, 105, 106, 150, 199, 200, 201, 300, 399, 400, 401, 500, 501, 900}) {
      for (const bool clocks : {false, true}) {
        store::Job job = plain_job(2, 3, [](std::int64_t, std::int64_t) { return 0; });
        job.communicators = {{1, "world", 2, {}}};
        job.sites = {{1, 1, CollectiveFunction::all_reduce, 1'000'000}};
        for (std::int64_t r = 0; r < 2; ++r) {
          for (std::int64_t s = 0; s < 3; ++s) {
            store::JobCall call;
            call.rank = r;
            call.step_index = s;
            call.site_id = 1;
            call.start_offset_ns = 500'000 + (r == 1 ? longer - 100 : 0);
            call.duration_ns = r == 1 ? 100 : longer;
            call.kernels_before_end = 4;
            job.calls.push_back(call);
          }
        }
        if (clocks) align_clocks(job);
        const JobAnalysis analysis = analyse_job(job).value();
        text += fmt::format("{} {}: ", longer, clocks) + fields(analysis.collectives) +
                fields(analysis.rank_costs[0].last_share) + fields(analysis.rank_costs[1].last_share) + "\n";
      }
    }
    return text;
  });
}

// Sizes that are far enough apart tell latency from rate; those beside kernels tell what these cost.
TEST(LinkFits, AreOfSizesApartAndOfCallsAlone) {
  store::Job job;
  job.communicators = {{1, "world", 2, {}}};
  const ranks::JobView view(job);
  AcceptedCases::expect([&] {
    std::string text;
    for (const std::int64_t larger :
         {1'000'000, 3'999'999, 4'000'000, 4'000'001, 19'999'999, 20'000'000, 20'000'001}) {
      for (const double beside : {0.0, 0.05, 0.051, 0.499, 0.5, 1.0}) {
        for (const double slowed : {1.0, 1.009, 1.011, 1.02, 1.03, 1.5, 9.0}) {
          ranks::StepChain chain;
          chain.groups = 1;
          chain.lost = {0, 0};
          chain.steps.resize(1);
          for (const std::int64_t bytes : {std::int64_t{1'000'000}, larger}) {
            ranks::ReplayedCall call;
            call.function = CollectiveFunction::all_reduce;
            call.communicator_id = 1;
            call.bytes = bytes;
            call.transfer_ns = 9'000 + static_cast<double>(bytes) / 100;
            call.ranks.resize(2);
            chain.steps[0].calls.push_back(call);
            call.transfer_ns *= bytes == 1'000'000 ? slowed : 2 * slowed - 1;
            call.beside_ns = beside * call.transfer_ns;
            chain.steps[0].calls.push_back(call);
          }
          std::vector<ranks::StepChain> chains = {chain};
          const ranks::LinkFits fits(view, chains, true);
          fits.take_out_kernels(chains);
          text += fields(fits.all()) + fields(chains[0].steps[0].calls[3].transfer_ns) + "\n";
        }
      }
    }
    return text;
  });
}

ranks::Spans drawn_spans(Lots& lots, std::int64_t count) {
  ranks::Spans spans;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = lots.below(200);
    spans.push_back({start, start + lots.between(-1, 30)});
  }
  return spans;
}

std::string spans_text(std::uint64_t seed) {
  Lots lots(seed);
  const std::int64_t first = lots.below(9);
  const ranks::Spans some = ranks::united(drawn_spans(lots, first));
  const std::int64_t second = lots.below(9);
  const ranks::Spans others = ranks::united(drawn_spans(lots, second));
  const std::int64_t from = lots.below(150);
  const ranks::Span window{from, from + lots.below(60)};
  std::string text = fields(some) + fields(ranks::clipped(some, window)) +
                     fields(ranks::difference(some, others)) + fields(ranks::length_ns(some));
  std::vector<ranks::SlowedSpan> slowed;
  for (const ranks::Span& span : drawn_spans(lots, 4))
    slowed.push_back({span, 0.25 * static_cast<double>(lots.below(4))});
  const ranks::OwnTime own(3, some, slowed);
  for (std::int64_t at = 0; at < 260; at += 13) text += " " + fields(own.at(at));
  return text + "\n";
}

TEST(DrawnSpans, AreWhatTheyWere) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 20 * sum; seed < 20 * sum + 20; ++seed) text += spans_text(seed);
      return text;
    });
  }
}

std::string interference_text(std::uint64_t seed) {
  Lots lots(seed);
  std::vector<ranks::ComparedLaunch> launches;
  const std::int64_t count = lots.between(0, 60), steps = lots.between(1, 3), kernels = lots.between(1, 3);
  const std::int64_t wide = lots.one_of<std::int64_t>({1, 30, 80});
  std::int64_t at = 100;
  for (std::int64_t i = 0; i < count; ++i) {
    ranks::ComparedLaunch launch;
    launch.time = {at, at + 100 + lots.below(wide)};
    launch.step_index = i * steps / std::max<std::int64_t>(1, count);
    launch.kernel_id = lots.between(1, kernels);
    launch.kernel_before_id = lots.one_in(9) ? 2 : 1;
    launch.kernel_after_id = lots.one_in(9) ? 2 : 1;
    if (lots.one_in(20)) launch.grid.x = 9;
    if (lots.one_in(20)) launch.block.y = 2;
    if (lots.one_in(20)) launch.registers_per_thread = 8;
    if (lots.one_in(20)) launch.smem_bytes = 8;
    at = launch.time.end_ns + lots.below(20);
    launches.push_back(launch);
  }
  std::vector<ranks::CollectiveTime> collectives;
  const std::int64_t others = lots.below(14);
  for (std::int64_t i = 0; i < others; ++i) {
    const std::int64_t start = lots.below(std::max<std::int64_t>(1, at));
    ranks::CollectiveTime one;
    one.time = {start, start + lots.between(0, 250)};
    if (!lots.one_in(4)) one.function = static_cast<CollectiveFunction>(lots.below(3));
    collectives.push_back(one);
  }
  const ranks::Interference found = ranks::interference_of(launches, collectives);
  return fields(found.steps) + fields(found.kernels) + "\n";
}

TEST(DrawnInterference, IsWhatItWas) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 20 * sum; seed < 20 * sum + 20; ++seed) text += interference_text(seed);
      return text;
    });
  }
}

std::string readiness_text(std::uint64_t seed) {
  Lots lots(seed);
  std::vector<store::GraphEdge> edges;
  const std::int64_t count = lots.below(14), nodes = lots.between(2, 9);
  for (std::int64_t i = 0; i < count; ++i) {
    store::GraphEdge edge;
    edge.from_node_id = lots.below(nodes);
    edge.to_node_id = lots.below(nodes);
    edges.push_back(edge);
  }
  ranks::Readiness readiness(edges);
  std::vector<store::Launch> asked;
  for (int i = 0; i < 16; ++i) {
    store::Launch launch;
    launch.correlation_id = lots.between(1, 2);
    launch.start_ns = lots.between(100, 300);
    launch.end_ns = launch.start_ns + lots.between(0, 50);
    if (!lots.one_in(3)) launch.host_start_ns = lots.between(90, 200);
    if (lots.one_in(2)) launch.graph_node_id = lots.below(nodes);
    if (i < 10)
      readiness.add(launch);
    else
      asked.push_back(launch);
  }
  readiness.finish();
  std::string text;
  for (const store::Launch& launch : asked) text += " " + fields(readiness.ready_ns(launch));
  return text + "\n";
}

TEST(DrawnReadiness, IsWhatItWas) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 20 * sum; seed < 20 * sum + 20; ++seed) text += readiness_text(seed);
      return text;
    });
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
