#include "ranks/link_fit.h"

#include <algorithm>
#include <tuple>

#include "ranks/contention.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

// Small collectives take 8 to 10 us between GPUs of one host.
constexpr double kUsualCollectiveLatencyNs = 10'000;
constexpr double kMostOfTransfer = 0.2;  // an assumed latency is at most so much of the shortest
constexpr double kApart = 4;             // sizes so many times apart tell latency from rate

struct SizeTime {
  double bytes = 0;
  double time_ns = 0;
};

// Minimises the sum of (1 - (latency + bytes * slope) / time)^2.
std::optional<std::pair<double, double>> line(const std::vector<SizeTime>& points) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (const SizeTime& point : points) {
    const double x = 1 / point.time_ns;
    const double y = point.bytes / point.time_ns;
    aa += x * x;
    ab += x * y;
    bb += y * y;
    a += x;
    b += y;
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 1e-12 * aa * bb) return std::nullopt;
  return std::pair{(a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant};
}

LinkFit fit_of(const std::map<std::int64_t, std::vector<double>>& times) {
  std::vector<SizeTime> points;
  double shortest = 0;
  for (const auto& [bytes, of] : times) {
    points.push_back({static_cast<double>(bytes), median(of)});
    shortest = points.size() == 1 ? points[0].time_ns : std::min(shortest, points.back().time_ns);
  }
  LinkFit fit;
  fit.sizes = static_cast<std::int64_t>(points.size());
  fit.smallest_bytes = times.begin()->first;
  fit.largest_bytes = times.rbegin()->first;
  const bool apart = points.back().bytes >= kApart * points.front().bytes;
  const auto found = apart ? line(points) : std::nullopt;
  fit.latency_assumed = !found || found->first < 0 || found->second <= 0;
  fit.latency_ns = fit.latency_assumed ? std::min(kUsualCollectiveLatencyNs, kMostOfTransfer * shortest)
                                       : std::min(found->first, shortest);
  if (!fit.latency_assumed) {
    fit.bytes_per_s = 1e9 / found->second;
    return fit;
  }
  // The rate of the largest: what is asked about travels in large pieces.
  const double left = points.back().time_ns - fit.latency_ns;
  fit.bytes_per_s = left > 0 ? points.back().bytes / left * 1e9 : 0;
  return fit;
}

constexpr double kMaxBesideAlone = 0.05;  // of its time, kernels ran beside it: it counts as alone
constexpr double kMinBeside = 0.5;        // likewise: it tells what they cost it
constexpr double kMinPaceLost = 0.02;     // less is not told from nothing
// As large or as small as the largest that ran alone: its time follows from those, if they tell latency from rate.
constexpr double kMaxTimesFromAlone = 20;

// Of one place in the steps' sequence and one size: medians over steps.
struct PlaceTime {
  double bytes = 0;
  double time_ns = 0;
  double beside_ns = 0;
};
using Observed = std::vector<std::pair<double, double>>;  // time, of that beside kernels
using ByPlace = std::map<std::pair<std::size_t, std::int64_t>, Observed>;

std::vector<PlaceTime> places_of(const ByPlace& calls) {
  std::vector<PlaceTime> places;
  for (const auto& [key, of] : calls) {
    std::vector<double> time, beside;
    for (const auto& [time_ns, beside_ns] : of) {
      time.push_back(time_ns);
      beside.push_back(beside_ns);
    }
    places.push_back({static_cast<double>(key.second), median(std::move(time)), median(std::move(beside))});
  }
  return places;
}

using BySize = std::map<std::int64_t, std::vector<double>>;
BySize sizes_of(const ByPlace& calls, bool alone_only) {
  BySize sizes;
  for (const auto& [key, of] : calls) {
    for (const auto& [time_ns, beside_ns] : of) {
      if (!alone_only || beside_ns <= kMaxBesideAlone * time_ns) sizes[key.second].push_back(time_ns);
    }
  }
  return sizes;
}

// Share of its pace that a collective loses beside kernels, by those that ran alone.
std::optional<double> lost_beside(const ByPlace& calls, const LinkFit& alone) {
  const double apart = alone.latency_assumed ? kApart : kMaxTimesFromAlone;
  const auto largest = static_cast<double>(alone.largest_bytes);
  std::vector<double> lost;
  for (const PlaceTime& place : places_of(calls)) {
    if (place.beside_ns < kMinBeside * place.time_ns) continue;
    if (place.bytes > apart * largest || place.bytes * apart < largest) continue;
    const double alone_ns = alone.latency_ns + place.bytes / alone.bytes_per_s * 1e9;
    lost.push_back((place.time_ns - alone_ns) / place.beside_ns);
  }
  if (lost.empty() || quantile(lost, 0.1) < kMinPaceLost) return std::nullopt;
  return std::min(median(std::move(lost)), kMaxLost);
}

}  // namespace

LinkFits::LinkFits(const JobView& view, const std::vector<StepChain>& chains, bool contention) {
  std::map<Key, ByPlace> all;
  for (const StepChain& chain : chains) {
    for (const ReplayedStep& step : chain.steps) {
      std::map<Key, std::size_t> places;
      for (const ReplayedCall& call : step.calls) {
        if (!call.function || !call.bytes || *call.bytes <= 0 || call.transfer_ns <= 0) continue;
        const Key key{call.communicator_id, *call.function};
        all[key][{places[key]++, *call.bytes}].emplace_back(call.transfer_ns, call.beside_ns);
      }
    }
  }
  std::map<store::Id, std::string> hashes;
  for (const store::JobCommunicator& group : view.job().communicators) hashes[group.id] = group.hash;
  for (const auto& [key, calls] : all) {
    Fit fit{fit_of(sizes_of(calls, false)), 0};
    const BySize alone = sizes_of(calls, true);
    if (contention && !alone.empty()) {
      const LinkFit of_alone = fit_of(alone);
      if (const auto lost = of_alone.bytes_per_s > 0 ? lost_beside(calls, of_alone) : std::nullopt) {
        fit = {of_alone, *lost};
        fit.said.beside_factor_ratio = 1 / (1 - *lost);
      }
    }
    fit.said.communicator = hashes[key.first];
    fit.said.function = key.second;
    fits_[key] = std::move(fit);
  }
}

bool LinkFits::any_slowed() const {
  return std::any_of(fits_.begin(), fits_.end(), [](const auto& fit) { return fit.second.lost > 0; });
}

void LinkFits::take_out_kernels(std::vector<StepChain>& chains) const {
  for (StepChain& chain : chains) {
    for (ReplayedStep& step : chain.steps) {
      for (ReplayedCall& call : step.calls) {
        const Fit* fit = find(call);
        if (fit == nullptr || fit->lost <= 0 || call.transfer_ns <= 0) continue;
        const double left = 1 - fit->lost * call.beside_ns / call.transfer_ns;
        call.lost = fit->lost * call.beside_ratio;
        call.transfer_ns *= left;
        for (ReplayedCall::OfRank& of : call.ranks) of.alone_ns *= left;
      }
    }
  }
}

const LinkFits::Fit* LinkFits::find(const ReplayedCall& call) const {
  if (!call.function) return nullptr;
  const auto found = fits_.find({call.communicator_id, *call.function});
  return found == fits_.end() ? nullptr : &found->second;
}

std::optional<double> LinkFits::time_ns(const ReplayedCall& call, double bytes) const {
  const Fit* fit = find(call);
  if (fit == nullptr || fit->said.bytes_per_s <= 0) return std::nullopt;
  return fit->said.latency_ns + bytes / fit->said.bytes_per_s * 1e9;
}

double LinkFits::latency_ns(const ReplayedCall& call) const {
  const Fit* fit = find(call);
  return fit != nullptr ? fit->said.latency_ns
                        : std::min(kUsualCollectiveLatencyNs, kMostOfTransfer * call.transfer_ns);
}

std::vector<LinkFit> LinkFits::all() const {
  std::vector<LinkFit> fits;
  for (const auto& [key, fit] : fits_) fits.push_back(fit.said);
  return fits;
}

}  // namespace ridgeline::analyzer::ranks
