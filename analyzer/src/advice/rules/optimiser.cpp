// optimiser.cpp: an optimizer that launches one or several short kernels a tensor. Fused or multi-tensor ones take the
// time of their bytes.
#include <map>

#include "advice/gains.h"
#include "advice/gap_gain.h"
#include "advice/idle.h"
#include "whatif/remedies.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kShortNs = 10'000;
constexpr std::size_t kManyLaunches = 50;
constexpr double kDramOfFused = 0.80;
// Of the time, where bytes are not counted.
constexpr double kLeftLow = 0.6, kLeftMid = 0.35, kLeftHigh = 0.15;
constexpr std::size_t kCycle = 24;  // kernels a tensor at most
constexpr double kGapLow = 0.5, kGapMid = 0.85;

// Launches of a run of elementwise kernels that come again tensor after tensor: few kernels, many launches of each. One
// kernel alone that is launched again and again is no optimizer's.
void add_if_cyclic(const RuleInput& in, const std::vector<std::uint32_t>& run,
                   std::vector<std::uint32_t>& found) {
  std::map<store::Id, std::size_t> kernels;
  for (const std::uint32_t position : run) ++kernels[in.launches.at(position).site->kernel_id];
  // A layer's elementwise kernels are few; those of an optimizer are each launched for every tensor.
  const bool each_often = std::all_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    return kernel.second * 4 * kernels.size() >= run.size();
  });
  if (run.size() > kManyLaunches && kernels.size() >= 2 && kernels.size() <= kCycle && each_often)
    found.insert(found.end(), run.begin(), run.end());
}

// Cuts a run where no kernel of what comes before comes again: two loops over other things are two runs.
void add_runs_of(const RuleInput& in, const std::vector<std::uint32_t>& run,
                 std::vector<std::uint32_t>& found) {
  std::map<store::Id, std::size_t> last;
  for (std::size_t i = 0; i < run.size(); ++i) last[in.launches.at(run[i]).site->kernel_id] = i;
  std::vector<std::uint32_t> part;
  std::size_t until = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    until = std::max(until, last[in.launches.at(run[i]).site->kernel_id]);
    part.push_back(run[i]);
    if (i < until) continue;
    add_if_cyclic(in, part, found);
    part.clear();
  }
}

void add_runs(const RuleInput& in, std::vector<std::uint32_t>& found) {
  const auto& order = in.launches.by_stream();
  std::vector<std::uint32_t> run;
  for (const std::uint32_t position : order) {
    const LaunchTraits& traits = in.launches.traits(position);
    const bool in_run = traits.kernel_class == KernelClass::elementwise &&
                        !traits.is(LaunchTraits::kOptimizer) &&
                        in.input.utilisation.launches.row(position).duration_ns < kShortNs * 5;
    if (!run.empty() && (!in_run || !in.launches.same_stream(run.back(), position))) {
      add_runs_of(in, run, found);
      run.clear();
    }
    if (in_run) run.push_back(position);
  }
  add_runs_of(in, run, found);
}

// The gaps before these launches, that they and no others have.
std::vector<OwnGap> gaps_before(const RuleInput& in, const std::vector<std::uint32_t>& launches) {
  std::vector<LaunchIndex> indices;
  for (const std::uint32_t position : launches) indices.push_back(in.launches.at(position).launch);
  std::sort(indices.begin(), indices.end());
  std::vector<OwnGap> found;
  std::uint32_t i = 0;
  for (const Gap gap : in.input.accounting.gaps) {
    const std::uint32_t index = i++;
    if (!gap.after || gap.wait || !std::binary_search(indices.begin(), indices.end(), *gap.after)) continue;
    if (gap.kind == GapKind::launch_bound || gap.kind == GapKind::host_bound)
      found.push_back({index, static_cast<double>(gap.end_ns - gap.start_ns)});
  }
  return found;
}

// What of the gaps goes with launches that become one; the launches' own time is simulated apart. What the recording
// adds to them a fused optimizer does not gain.
CpuGain gained_gaps(const RuleInput& in, Proposal& proposal, double gaps_ns) {
  std::vector<Remedies::Kept> kept;
  std::vector<SavingReach::Shorter> shorter;
  for (const ProposalPart& part : proposal.parts) {
    const LaunchView launch = in.launches.at(part.index);
    const auto time_ns = static_cast<double>(std::max<std::int64_t>(launch.duration_ns, 1));
    kept.emplace_back(launch.launch, 1 - part.saved.mid_ns / time_ns);
    shorter.emplace_back(launch.launch, part.saved.mid_ns);
  }
  std::sort(shorter.begin(), shorter.end());
  const double of_gpu_ns = in.input.reach.if_shorter(shorter).value_or(0);
  std::optional<RemedyGain> all = in.remedies != nullptr ? in.remedies->as_one(kept) : std::nullopt;
  if (all) {
    all->ns = std::max(all->ns - of_gpu_ns, 0.0);
    all->min_ns = std::max(all->min_ns - of_gpu_ns, 0.0);
    proposal.remedy = all->edit;
  }
  // What the CPU gains beyond its own gaps, by being ahead again, is the optimizer's too.
  return cpu_gain(in, all, all ? std::max(all->ns, gaps_ns) : gaps_ns);
}

}  // namespace

RuleAnswer judge_optimiser(const RuleInput& in) {
  RuleAnswer answer;
  std::vector<std::uint32_t> launches;
  for (const std::uint32_t position : in.launches.by_stream()) {
    if (in.launches.is(position, LaunchTraits::kOptimizer)) launches.push_back(position);
  }
  add_runs(in, launches);  // beside those whose names tell: programs have more than one optimizer
  std::size_t brief = 0;
  double time_ns = 0, gaps_ns = 0, bytes = 0;
  bool counted = true;
  for (const std::uint32_t position : launches) {
    const LaunchView launch = in.launches.at(position);
    if (launch.duration_ns < kShortNs) ++brief;
    time_ns += static_cast<double>(launch.duration_ns);
    counted = counted && launch.dram_bytes().has_value();
    bytes += launch.dram_bytes().value_or(0);
  }
  if (brief > 0) answer.nearest = {{"short_launches", static_cast<double>(brief), {}, {}}};
  if (brief <= kManyLaunches) return answer;
  Proposal proposal{.basis = counted ? AdviceBasis::modelled : AdviceBasis::estimated,
                    .subject = std::string(in.launches.at(launches.back()).kernel),
                    .power = PowerEffect::less_work};
  const auto dram =
      advice_peak(in.input, in.launches.at(launches.front()).site->device_id, Quantity::dram_bytes_per_s);
  const bool modelled = counted && dram && *dram > 0;
  const double left =
      modelled ? std::min(bytes / (kDramOfFused * *dram) * 1e9 / std::max(time_ns, 1.0), 1.0) : 0;
  if (!modelled) proposal.basis = AdviceBasis::estimated;
  for (const std::uint32_t position : launches) {
    const auto each_ns = static_cast<double>(in.launches.at(position).duration_ns);
    // Fused kernels also move less: what one of the chain hands to the next.
    const AdviceGain gain =
        modelled
            ? AdviceGain{(1 - left) * 0.6 * each_ns, (1 - left) * 0.9 * each_ns, (1 - left / 2) * each_ns}
            : AdviceGain{(1 - kLeftLow) * each_ns, (1 - kLeftMid) * each_ns, (1 - kLeftHigh) * each_ns};
    proposal.add_launch(position, gain);
  }
  const std::vector<OwnGap> gaps = gaps_before(in, launches);
  for (const OwnGap& one : gaps) gaps_ns += one.max_ns;
  const CpuGain gained = gained_gaps(in, proposal, gaps_ns);
  if (gained.state == CpuGain::State::gained) add_gaps(in, gaps, gained.ns, {kGapLow, kGapMid}, proposal);
  if (gained.state == CpuGain::State::unknown)
    answer.cannot_say(in.recording.need(), proposal.subject, gained.ns);
  proposal.say("launches", static_cast<double>(launches.size()));
  proposal.say("short_launches", static_cast<double>(brief));
  proposal.say("time_ns", time_ns);
  proposal.say("gaps_ns", gaps_ns);
  answer.proposals.push_back(std::move(proposal));
  return answer;
}

}  // namespace ridgeline::analyzer
