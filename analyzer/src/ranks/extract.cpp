// extract.cpp: what the ranks of one capture did in their timeline steps, on their own clocks.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "ranks/interference.h"
#include "ranks/readiness.h"
#include "ranks/site_key.h"
#include "ranks/spans.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/analyzer/work/link_traffic.h"
#include "ridgeline/base/collective_name.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/order.h"

namespace ridgeline::analyzer {

namespace {

using ranks::Span;
using ranks::Spans;

// A sample of the clock this far from a step still says something of it: they come ten times a second.
constexpr std::int64_t kClockReachNs = 500'000'000;

// Longer than any recording: times beyond are no times.
constexpr std::int64_t kLongestRecordingNs = 1'000'000'000'000'000;
constexpr std::int64_t kLatestTimeNs = 2'200'000'000'000'000'000;
constexpr std::int64_t kMaxRanks = 1'000'000;
// A sample that reaches over an end of a collective is shared out by time: of so many samples that is a small part.
constexpr std::int64_t kMinCallSamples = 4;

bool usable(std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns > 0 && end_ns >= start_ns && end_ns < kLatestTimeNs &&
         end_ns - start_ns < kLongestRecordingNs;
}

std::int64_t blocks_of(const store::Dim3& grid) {
  constexpr double kMaxBlocks = 1e15;
  return static_cast<std::int64_t>(
      std::clamp(static_cast<double>(grid.x) * static_cast<double>(grid.y) * static_cast<double>(grid.z), 0.0,
                 kMaxBlocks));
}

// Words that differ from rank to rank are numbers: ranks, ports, devices.
std::string without_numbers(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      out += text[i];
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

class Extraction {
 public:
  Extraction(std::string file, const store::Capture& capture)
      : file_(std::move(file)), capture_(capture), activity_(capture) {
    for (const store::Kernel& kernel : capture.kernels()) kernels_[kernel.id] = kernel;
    for (const store::Collective& call : store::collectives(capture)) collectives_[call.launch_id] = call;
    for (const store::CopiedCollective& copied : store::copied_collectives(capture))
      copied_[copied.copy_id] = copied;
    for (const store::Communicator& group : store::communicators(capture)) communicators_[group.id] = group;
    for (const store::Device& device : capture.devices()) devices_[device.id] = device.name;
    job_.links = store::nvlink_of(capture.ceilings());
    for (const store::ClockSample& sample : capture.clock_samples()) {
      if (sample.sm_clock_hz && *sample.sm_clock_hz > 0 && sample.time_ns > 0 &&
          sample.time_ns < kLatestTimeNs)
        clocks_[sample.device_id].push_back(sample);
    }
  }

  Result<store::Job> run() {
    const auto hosts = store::Order(capture_).hosts();
    const store::Run run = capture_.has_run() ? capture_.run() : store::Run{};
    std::set<std::int64_t> seen;
    std::set<std::int64_t> idle;
    for (const store::Process& process : capture_.processes()) {
      if (!process.rank) continue;
      // Workers of a rank have its environment, too.
      const std::vector<store::Step> steps = timeline_steps(process.id);
      const std::vector<store::Launch> launches = launches_of(process.id, steps);
      if (launches.empty()) {
        idle.insert(*process.rank);
        continue;
      }
      if (!seen.insert(*process.rank).second)
        return Failure{ErrorKind::usage, fmt::format("{}: rank {} is there twice", file_, *process.rank)};
      store::JobRank row;
      row.rank = *process.rank;
      if (const auto host = hosts.find(process.id); host != hosts.end()) row.host = host->second;
      if (!row.host) row.host = run.host_name;
      row.program = without_numbers(run.command_line);
      row.file = file_;
      row.process_id = process.id;
      row.world_size = world_size(process.id);
      row.step_source = source_of(steps);
      extract(process, steps, launches, row);
      job_.ranks.push_back(std::move(row));
    }
    for (const std::int64_t rank : idle) {
      if (!seen.contains(rank))
        return Failure{ErrorKind::no_data,
                       fmt::format("{}: rank {} has no timeline step with kernels", file_, rank)};
    }
    if (job_.ranks.empty())
      return Failure{
          ErrorKind::no_data,
          fmt::format("{}: no process has a rank: record the program as a job (torchrun, MPI, Slurm or "
                      "RANK in its environment)",
                      file_)};
    return std::move(job_);
  }

 private:
  static std::optional<StepSource> source_of(const std::vector<store::Step>& steps) {
    const bool alike = std::all_of(steps.begin(), steps.end(), [&](const store::Step& step) {
      return step.source == steps.front().source;
    });
    return alike ? std::optional(steps.front().source) : std::nullopt;
  }

  struct Window {
    Span time;
    std::int64_t step_index = 0;
  };
  /// A collective as it ran: a kernel, or copies between devices.
  struct Communicating {
    Span time;
    store::Id step_id = 0;
    const store::Launch* launch = nullptr;            // null: copies
    const store::CopiedCollective* copied = nullptr;  // then
    std::int64_t copies = 0;
    std::int64_t stream_id = 0;
  };

  std::optional<std::int64_t> world_size(store::Id process) const {
    std::optional<std::int64_t> size;
    for (const auto& [name, value] : capture_.environment()) {
      if (name != "WORLD_SIZE" && name != "OMPI_COMM_WORLD_SIZE" && name != "PMI_SIZE") continue;
      if (!value.empty() && value.size() < 10 &&
          std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
        size = std::stoll(value);
    }
    for (const auto& [id, group] : communicators_) {
      if (group.process_id == process && group.ranks.value_or(0) > size.value_or(0)) size = group.ranks;
    }
    if (size && (*size < 1 || *size > kMaxRanks)) return std::nullopt;
    return size;
  }

  [[nodiscard]] std::vector<store::Step> timeline_steps(store::Id process) const {
    return steps_of(process, Phase::timeline);
  }

  [[nodiscard]] std::vector<store::Step> steps_of(store::Id process, Phase phase) const {
    std::vector<store::Step> steps;
    for (const store::Step& step : capture_.steps()) {
      if (step.process_id == process && step.phase == phase && step.status == StepStatus::ok &&
          step.step_index >= 0 && step.step_index < kLongestRecordingNs)
        steps.push_back(step);
    }
    return steps;
  }

  static store::ActivityFilter filter_of(store::Id process, const std::vector<store::Step>& steps) {
    store::ActivityFilter filter;
    filter.process_id = process;
    filter.step_ids.emplace();
    for (const store::Step& step : steps) filter.step_ids->push_back(step.id);
    return filter;
  }

  // By their start.
  [[nodiscard]] std::vector<store::Launch> launches_of(store::Id process,
                                                       const std::vector<store::Step>& steps) const {
    std::vector<store::Launch> launches;
    if (steps.empty()) return launches;
    activity_.for_each_launch(filter_of(process, steps), [&](const store::Launch& launch) {
      if (usable(launch.start_ns, launch.end_ns)) launches.push_back(launch);
    });
    std::sort(launches.begin(), launches.end(), [](const store::Launch& a, const store::Launch& b) {
      return std::tie(a.start_ns, a.correlation_id) < std::tie(b.start_ns, b.correlation_id);
    });
    return launches;
  }

  void extract(const store::Process& process, const std::vector<store::Step>& steps,
               const std::vector<store::Launch>& launches, store::JobRank& row) {
    row.device = devices_[launches.front().device_id];
    split(filter_of(process.id, steps), launches);
    for (const Window& window : windows(steps, launches)) add_step(*process.rank, window, launches);
    add_calls(process, steps, launches);
    add_kernels(*process.rank, steps, launches);
    add_interference(*process.rank, filter_of(process.id, steps), steps, launches);
    add_traffic(process);
  }

  // Kernels that compute, collectives, copies: when any of them ran.
  void split(const store::ActivityFilter& filter, const std::vector<store::Launch>& launches) {
    Spans compute;
    Spans communication;
    Spans copies;
    compute_starts_.clear();
    for (const store::Launch& launch : launches) {
      if (!communicates(launch)) compute_starts_.push_back(launch.start_ns);
    }
    for (const store::Launch& launch : launches)
      (communicates(launch) ? communication : compute).push_back({launch.start_ns, launch.end_ns});
    activity_.for_each_memcpy(filter, [&](const store::Memcpy& copy) {
      if (!usable(copy.start_ns, copy.end_ns)) return;
      (copy.kind == CopyKind::peer_to_peer ? communication : copies).push_back({copy.start_ns, copy.end_ns});
    });
    activity_.for_each_memset(filter, [&](const store::Memset& set) {
      if (usable(set.start_ns, set.end_ns)) copies.push_back({set.start_ns, set.end_ns});
    });
    compute_ = ranks::united(std::move(compute));
    communication_ = ranks::united(std::move(communication));
    copies_ = ranks::united(std::move(copies));
  }

  // Kernels that compute and began before.
  std::int64_t kernels_before(std::int64_t time_ns) const {
    return std::lower_bound(compute_starts_.begin(), compute_starts_.end(), time_ns) -
           compute_starts_.begin();
  }

  bool communicates(const store::Launch& launch) const {
    if (collectives_.contains(launch.id)) return true;
    const auto kernel = kernels_.find(launch.kernel_id);
    return kernel != kernels_.end() && kernel->second.kernel_class == KernelClass::communication;
  }

  // From a step's first kernel to the next step's; the last of a row of steps to its own end.
  std::vector<Window> windows(const std::vector<store::Step>& steps,
                              const std::vector<store::Launch>& launches) {
    std::unordered_map<store::Id, Span> of;
    for (const store::Launch& launch : launches) {
      const auto [at, fresh] = of.try_emplace(*launch.step_id, Span{launch.start_ns, launch.end_ns});
      if (fresh) continue;
      at->second.start_ns = std::min(at->second.start_ns, launch.start_ns);
      at->second.end_ns = std::max(at->second.end_ns, launch.end_ns);
    }
    std::vector<Window> all;
    for (const store::Step& step : steps) {
      const auto found = of.find(step.id);
      if (found == of.end()) continue;
      if (!all.empty() && all.back().step_index + 1 == step.step_index)
        all.back().time.end_ns = std::max(found->second.start_ns, all.back().time.start_ns);
      all.push_back({found->second, step.step_index});
      starts_[step.id] = found->second.start_ns;
    }
    return all;
  }

  void add_step(std::int64_t rank, const Window& window, const std::vector<store::Launch>& launches) {
    const Spans compute = ranks::clipped(compute_, window.time);
    const Spans communication = ranks::clipped(communication_, window.time);
    const Spans exposed = ranks::difference(communication, compute);
    const Spans without_kernels = ranks::difference(ranks::clipped(copies_, window.time), compute);
    const Spans copies = ranks::difference(without_kernels, communication);
    store::JobStep row;
    row.rank = rank;
    row.step_index = window.step_index;
    row.start_ns = window.time.start_ns;
    row.duration_ns = window.time.end_ns - window.time.start_ns;
    row.compute_ns = ranks::length_ns(compute);
    row.communication_ns = ranks::length_ns(communication);
    row.exposed_ns = ranks::length_ns(exposed);
    row.copy_ns = ranks::length_ns(copies);
    row.copy_beside_ns = ranks::length_ns(without_kernels) - row.copy_ns;
    row.idle_ns = row.duration_ns - row.compute_ns - row.exposed_ns - row.copy_ns;
    add_clock(launches.front().device_id, window.time, row);
    job_.steps.push_back(row);
  }

  // Of samples in the step; where none is, between its neighbours.
  void add_clock(store::Id device, const Span& time, store::JobStep& row) const {
    const auto of = clocks_.find(device);
    if (of == clocks_.end()) return;
    const auto& samples = of->second;
    auto at = std::partition_point(samples.begin(), samples.end(), [&](const store::ClockSample& sample) {
      return sample.time_ns < time.start_ns;
    });
    const auto after = std::partition_point(
        at, samples.end(), [&](const store::ClockSample& sample) { return sample.time_ns < time.end_ns; });
    row.clock_samples = after - at;
    double sum = 0;
    std::int64_t count = row.clock_samples;
    for (auto sample = at; sample != after; ++sample) sum += static_cast<double>(*sample->sm_clock_hz);
    if (count == 0) {
      const auto take = [&](const store::ClockSample& sample, std::int64_t away_ns) {
        if (away_ns > kClockReachNs) return;
        sum += static_cast<double>(*sample.sm_clock_hz);
        ++count;
      };
      if (at != samples.begin()) take(*(at - 1), time.start_ns - (at - 1)->time_ns);
      if (after != samples.end()) take(*after, after->time_ns - time.end_ns);
    }
    if (count > 0) row.sm_clock_hz = sum / static_cast<double>(count);
  }

  // Those of these steps, by their start: the launches that communicate, and calls of the copy engines.
  [[nodiscard]] std::vector<Communicating> communicating(const store::ActivityFilter& filter,
                                                         const std::vector<store::Launch>& launches) const {
    std::vector<Communicating> all;
    for (const store::Launch& launch : launches) {
      if (communicates(launch))
        all.push_back(
            {{launch.start_ns, launch.end_ns}, *launch.step_id, &launch, nullptr, 0, launch.stream_id});
    }
    // By their start, as launches are; copies are looked at only where some of them are calls.
    if (copied_.empty()) return all;
    std::unordered_map<store::Id, std::size_t> calls;  // by first copy
    activity_.for_each_memcpy(filter, [&](const store::Memcpy& copy) {
      const auto copied = copied_.find(copy.id);
      if (copied == copied_.end() || !copy.step_id || !usable(copy.start_ns, copy.end_ns)) return;
      const auto [at, fresh] = calls.try_emplace(copied->second.first_copy_id, all.size());
      if (fresh) {
        all.push_back(
            {{copy.start_ns, copy.end_ns}, *copy.step_id, nullptr, &copied->second, 1, copy.stream_id});
        return;
      }
      Communicating& call = all[at->second];
      call.time.start_ns = std::min(call.time.start_ns, copy.start_ns);
      call.time.end_ns = std::max(call.time.end_ns, copy.end_ns);
      ++call.copies;
    });
    std::stable_sort(all.begin(), all.end(), [](const Communicating& a, const Communicating& b) {
      return a.time.start_ns < b.time.start_ns;
    });
    return all;
  }

  // Which site a call is of: groups of ranks, functions and sizes are numbered once for the job.
  store::Id site_of(const Communicating& call, std::optional<std::int64_t>& ordinal) {
    std::string hash = fmt::format("stream {}", call.stream_id);
    std::optional<std::int64_t> group_ranks;
    std::optional<std::string> name;
    std::optional<CollectiveFunction> function;
    std::optional<std::int64_t> bytes;
    store::JobSite site;
    std::optional<store::Id> communicator;
    if (call.copied != nullptr) {
      function = call.copied->function;
      bytes = call.copied->bytes;
      ordinal = call.copied->ordinal;
      communicator = call.copied->communicator_id;
    } else if (const auto known = collectives_.find(call.launch->id); known != collectives_.end()) {
      site.element_type = known->second.element_type;
      site.algorithm = known->second.algorithm;
      site.protocol = known->second.protocol;
      function = known->second.function;
      bytes = known->second.bytes;
      ordinal = known->second.ordinal;
      communicator = known->second.communicator_id;
    } else {
      function = function_of(*call.launch);
    }
    if (const auto group = communicators_.find(communicator.value_or(0)); group != communicators_.end()) {
      if (group->second.hash) hash = *group->second.hash;
      group_ranks = group->second.ranks;
      name = group->second.name;
    }
    const auto group = groups_.try_emplace(hash, static_cast<store::Id>(groups_.size() + 1));
    if (group.second) job_.communicators.push_back({group.first->second, hash, group_ranks, name});
    const auto at = sites_.try_emplace({group.first->second, function, bytes}, job_.sites.size());
    site.id = static_cast<store::Id>(at.first->second + 1);
    site.communicator_id = group.first->second;
    site.function = function;
    site.bytes = bytes;
    if (call.launch != nullptr) {
      if (!site.element_type) site.element_type = element_of(*call.launch);
      site.blocks = blocks_of(call.launch->grid);
    } else {
      site.copies = call.copies;
    }
    if (at.second) {
      job_.sites.push_back(site);
    } else {
      ranks::keep_what_agrees(job_.sites[at.first->second], site);
    }
    return site.id;
  }

  // A call whose kernel is one of no library's is known by who recorded it: its name says nothing of it.
  std::optional<ElementType> element_of(const store::Launch& launch) const {
    const auto kernel = kernels_.find(launch.kernel_id);
    return kernel == kernels_.end() ? std::nullopt : element_in_name(kernel->second.demangled_name);
  }

  ranks::Readiness readiness_of(store::Id process, const std::vector<store::Launch>& launches) const {
    ranks::Readiness readiness(store::Order(capture_).graph_edges(process));
    for (const store::Launch& launch : launches) {
      if (!communicates(launch)) readiness.add(launch);
    }
    readiness.finish();
    return readiness;
  }

  void add_calls(const store::Process& process, const std::vector<store::Step>& steps,
                 const std::vector<store::Launch>& launches) {
    const ranks::Readiness readiness = readiness_of(process.id, launches);
    std::unordered_map<store::Id, std::int64_t> index;
    for (const store::Step& step : steps) index[step.id] = step.step_index;
    std::map<std::int64_t, std::vector<store::JobCall>> by_step;
    for (Communicating& one : communicating(filter_of(process.id, steps), launches)) {
      // A step begins with its first kernel: copies before it are the time of the step before.
      const auto start = starts_.find(one.step_id);
      if (start == starts_.end() || one.time.end_ns <= start->second) continue;
      one.time.start_ns = std::max(one.time.start_ns, start->second);
      store::JobCall call;
      call.rank = *process.rank;
      call.step_index = index.at(one.step_id);
      call.site_id = site_of(one, call.ordinal);
      call.start_offset_ns = one.time.start_ns - start->second;
      call.duration_ns = one.time.end_ns - one.time.start_ns;
      if (const auto ready = one.launch != nullptr ? readiness.ready_ns(*one.launch) : std::nullopt)
        call.ready_offset_ns = *ready - start->second;
      std::int64_t at = one.time.start_ns;
      for (const Span& span : ranks::clipped(compute_, one.time)) {
        call.hidden_ns.push_back(span.start_ns - at);
        call.hidden_ns.push_back(span.end_ns - span.start_ns);
        at = span.end_ns;
      }
      call.hidden_ns.shrink_to_fit();
      call.kernels_before_end = kernels_before(one.time.end_ns) - kernels_before(start->second);
      auto& of_step = by_step[call.step_index];
      call.position = static_cast<std::int64_t>(of_step.size());
      of_step.push_back(std::move(call));
    }
    for (auto& [step, calls] : by_step) std::move(calls.begin(), calls.end(), std::back_inserter(job_.calls));
  }

  void add_kernels(std::int64_t rank, const std::vector<store::Step>& steps,
                   const std::vector<store::Launch>& launches) {
    std::unordered_map<store::Id, std::int64_t> index;
    for (const store::Step& step : steps) index[step.id] = step.step_index;
    std::map<std::pair<std::int64_t, store::Id>, store::JobKernelStep> sums;
    std::map<std::int64_t, std::int64_t> counts;
    for (const store::Launch& launch : launches) {
      if (communicates(launch)) continue;
      const std::string& name = kernels_.at(launch.kernel_id).demangled_name;
      const auto kernel = names_.try_emplace(name, static_cast<store::Id>(names_.size() + 1));
      if (kernel.second) job_.kernels.push_back({kernel.first->second, name});
      store::JobKernelStep& sum = sums[{index.at(*launch.step_id), kernel.first->second}];
      ++sum.launches;
      sum.blocks += blocks_of(launch.grid);
      sum.time_ns += launch.end_ns - launch.start_ns;
      ++counts[index.at(*launch.step_id)];
    }
    for (auto& [key, sum] : sums) {
      sum.rank = rank;
      std::tie(sum.step_index, sum.kernel_id) = key;
      job_.kernel_steps.push_back(sum);
    }
    for (auto step = job_.steps.rbegin(); step != job_.steps.rend() && step->rank == rank; ++step)
      step->launches = counts[step->step_index];
  }

  // What collectives cost the kernels beside them; add_kernels() has named these.
  void add_interference(std::int64_t rank, const store::ActivityFilter& filter,
                        const std::vector<store::Step>& steps, const std::vector<store::Launch>& launches) {
    std::unordered_map<store::Id, std::int64_t> index;
    for (const store::Step& step : steps) index[step.id] = step.step_index;
    std::vector<ranks::ComparedLaunch> computing;
    std::vector<ranks::CollectiveTime> collectives;
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> last_on;  // by context and stream
    for (const store::Launch& launch : launches) {
      const Span time{launch.start_ns, launch.end_ns};
      if (communicates(launch)) {
        collectives.push_back({time, function_of(launch)});
        continue;
      }
      ranks::ComparedLaunch one{time, index.at(*launch.step_id),
                                names_.at(kernels_.at(launch.kernel_id).demangled_name)};
      one.grid = launch.grid;
      one.block = launch.block;
      one.registers_per_thread = launch.registers_per_thread;
      one.smem_bytes = launch.static_smem_bytes + launch.dynamic_smem_bytes;
      const auto [before, first] =
          last_on.try_emplace({launch.context_id, launch.stream_id}, computing.size());
      if (!first) {
        one.kernel_before_id = computing[before->second].kernel_id;
        computing[before->second].kernel_after_id = one.kernel_id;
        before->second = computing.size();
      }
      computing.push_back(one);
    }
    activity_.for_each_memcpy(filter, [&](const store::Memcpy& copy) {
      if (copy.kind != CopyKind::peer_to_peer || !usable(copy.start_ns, copy.end_ns)) return;
      const auto copied = copied_.find(copy.id);
      collectives.push_back(
          {{copy.start_ns, copy.end_ns},
           copied == copied_.end() ? std::nullopt : std::optional(copied->second.function)});
    });
    ranks::Interference found = ranks::interference_of(computing, std::move(collectives));
    for (auto step = job_.steps.rbegin(); step != job_.steps.rend() && step->rank == rank; ++step) {
      const ranks::StepInterference& of = found.steps[step->step_index];
      step->beside_ns = of.beside_ns;
      step->beside_controlled_ns = of.controlled_ns;
      step->beside_cost_ns = of.cost_ns;
    }
    for (store::JobInterference& row : found.kernels) {
      row.rank = rank;
      job_.interference.push_back(row);
    }
  }

  std::optional<CollectiveFunction> function_of(const store::Launch& launch) const {
    const auto known = collectives_.find(launch.id);
    if (known != collectives_.end()) return known->second.function;
    return collective_in_name(kernels_.at(launch.kernel_id).demangled_name);
  }

  // What went over the links in sampled steps: in whole steps, and while collectives ran that had no other beside them.
  void add_traffic(const store::Process& process) {
    const std::vector<store::Step> steps = steps_of(process.id, Phase::sample);
    const std::vector<store::Launch> launches = launches_of(process.id, steps);
    if (launches.empty()) return;
    const LinkSamples samples = read_link_samples(capture_, launches.front().device_id);
    if (samples.empty()) return;
    store::JobTraffic whole;
    whole.rank = *process.rank;
    for (const Window& window : windows(steps, launches)) add_bytes(samples, window.time, whole);
    if (whole.count > 0) job_.traffic.push_back(whole);
    const std::vector<Communicating> calls = communicating(filter_of(process.id, steps), launches);
    std::map<store::Id, store::JobTraffic> of_sites;
    std::int64_t busy_until = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Span& time = calls[i].time;
      const bool alone =
          busy_until <= time.start_ns && (i + 1 == calls.size() || calls[i + 1].time.start_ns >= time.end_ns);
      busy_until = std::max(busy_until, time.end_ns);
      if (!alone || time.end_ns - time.start_ns < kMinCallSamples * samples.interval_ns()) continue;
      std::optional<std::int64_t> ordinal;
      const store::Id site = site_of(calls[i], ordinal);
      store::JobTraffic& row = of_sites[site];
      row.rank = *process.rank;
      row.site_id = site;
      add_bytes(samples, time, row);
    }
    for (const auto& [site, row] : of_sites) {
      if (row.count > 0) job_.traffic.push_back(row);
    }
  }

  static void add_bytes(const LinkSamples& samples, const Span& time, store::JobTraffic& row) {
    const LinkBytes bytes = samples.during(time.start_ns, time.end_ns);
    if (bytes == LinkBytes{}) return;
    add_link_bytes(row.bytes, bytes);
    ++row.count;
    row.time_ns += time.end_ns - time.start_ns;
  }

  std::string file_;
  const store::Capture& capture_;
  store::Activity activity_;
  std::unordered_map<store::Id, store::Kernel> kernels_;
  std::unordered_map<store::Id, store::Collective> collectives_;
  std::unordered_map<store::Id, store::CopiedCollective> copied_;
  std::map<store::Id, store::Communicator> communicators_;
  std::unordered_map<store::Id, std::string> devices_;
  std::unordered_map<store::Id, std::vector<store::ClockSample>> clocks_;
  std::unordered_map<store::Id, std::int64_t> starts_;  // of steps
  std::map<std::string, store::Id> groups_;
  std::map<ranks::SiteKey, std::size_t> sites_;  // places among the job's
  std::map<std::string, store::Id> names_;
  Spans compute_, communication_, copies_;    // of the process
  std::vector<std::int64_t> compute_starts_;  // likewise, of kernels, sorted
  store::Job job_;
};

}  // namespace

Result<store::Job> ranks_of(const std::string& file) {
  const Result<bool> merged_already = store::is_job(file);
  if (!merged_already.ok()) return merged_already.failure();
  if (merged_already.value()) return store::read_job(file);
  const auto capture = store::Capture::open(file);
  if (!capture.ok()) return capture.failure();
  try {
    return Extraction(file, capture.value()).run();
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  } catch (const std::out_of_range&) {
    return Failure{ErrorKind::corrupt,
                   fmt::format("{} refers to a kernel or a step that is not there", file)};
  }
}

}  // namespace ridgeline::analyzer
