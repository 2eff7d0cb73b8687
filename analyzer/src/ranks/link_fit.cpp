#include "ranks/link_fit.h"

#include <algorithm>

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

}  // namespace

LinkFits::LinkFits(const JobView& view, const std::vector<StepChain>& chains) {
  std::map<Key, std::map<std::int64_t, std::vector<double>>> times;
  for (const StepChain& chain : chains) {
    for (const ReplayedStep& step : chain.steps) {
      for (const ReplayedCall& call : step.calls) {
        if (call.function && call.bytes && *call.bytes > 0 && call.transfer_ns > 0)
          times[{call.communicator_id, *call.function}][*call.bytes].push_back(call.transfer_ns);
      }
    }
  }
  std::map<store::Id, std::string> hashes;
  for (const store::JobCommunicator& group : view.job().communicators) hashes[group.id] = group.hash;
  for (const auto& [key, of] : times) {
    LinkFit fit = fit_of(of);
    fit.communicator = hashes[key.first];
    fit.function = key.second;
    fits_[key] = std::move(fit);
  }
}

const LinkFit* LinkFits::find(const ReplayedCall& call) const {
  if (!call.function) return nullptr;
  const auto found = fits_.find({call.communicator_id, *call.function});
  return found == fits_.end() ? nullptr : &found->second;
}

std::optional<double> LinkFits::time_ns(const ReplayedCall& call, double bytes) const {
  const LinkFit* fit = find(call);
  if (fit == nullptr || fit->bytes_per_s <= 0) return std::nullopt;
  return fit->latency_ns + bytes / fit->bytes_per_s * 1e9;
}

double LinkFits::latency_ns(const ReplayedCall& call) const {
  const LinkFit* fit = find(call);
  return fit != nullptr ? fit->latency_ns
                        : std::min(kUsualCollectiveLatencyNs, kMostOfTransfer * call.transfer_ns);
}

std::vector<LinkFit> LinkFits::all() const {
  std::vector<LinkFit> fits;
  for (const auto& [key, fit] : fits_) fits.push_back(fit);
  return fits;
}

}  // namespace ridgeline::analyzer::ranks
