#include "ranks/rebucket.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

constexpr std::int64_t kMinBucketBytes = 64 * 1024;  // smaller ones are norms, losses, flags
constexpr double kNearEdge = 0.1;                    // of the wanted size
constexpr std::size_t kEdgeBuckets = 2;  // the first and the last of a row have sizes of their own
constexpr double kSlackNs = 1'000;

bool reduces_gradients(const ReplayedCall& call) {
  const bool reduces =
      call.function == CollectiveFunction::all_reduce || call.function == CollectiveFunction::reduce_scatter;
  return reduces && call.all_wait && call.bytes.value_or(0) >= kMinBucketBytes;
}

// The program needs the first to go on to the second: they cannot be one.
bool needed_before(const ReplayedCall& one, const ReplayedCall& next) {
  std::size_t needed = 0;
  std::size_t there = 0;
  for (std::size_t r = 0; r < one.ranks.size(); ++r) {
    if (!one.ranks[r].there || !next.ranks[r].there) continue;
    ++there;
    if (one.ranks[r].stops && *one.ranks[r].stops + kSlackNs < next.ranks[r].ready) ++needed;
  }
  return 2 * needed > there;
}

// A bucket to be: where it ends, in which recorded ones it lies.
struct Piece {
  double bytes = 0;
  std::size_t first = 0, last = 0;  // recorded buckets
  double of_last = 1;               // of the last one's bytes, those up to its end
};

// Where recorded buckets are put together. A program closes a bucket with the gradient that makes it large enough, and
// recorded edges are such: one that holds several recorded buckets ends in the last of them, or at its end. A recorded
// bucket that is as large by itself may be one gradient and stays whole.
std::vector<Piece> cut(const std::vector<double>& recorded, double wanted, BucketFill fill) {
  std::vector<Piece> pieces;
  Piece open;
  const auto close = [&](std::size_t bucket, double of_last, std::size_t next) {
    open.last = bucket;
    open.of_last = of_last;
    pieces.push_back(open);
    open = {};
    open.first = next;
  };
  for (std::size_t k = 0; k < recorded.size(); ++k) {
    double left = recorded[k];
    const bool over = open.bytes + left > wanted * (1 + kNearEdge);
    if (fill == BucketFill::evenly && open.bytes > 0 && over) {
      left -= wanted - open.bytes;
      open.bytes = wanted;
      close(k, 1 - left / recorded[k], k);
    }
    open.bytes += left;
    if (open.bytes >= wanted * (1 - kNearEdge)) close(k, 1, k + 1);
  }
  if (open.bytes > 0) close(recorded.size() - 1, 1, recorded.size());
  return pieces;
}

class Recut {
 public:
  Recut(const ReplayedStep& step, const BucketRun& run, BucketFill fill, const LinkFits& fits)
      : step_(step), run_(run), fill_(fill), fits_(fits) {
    double recorded = 0;
    double fitted = 0;
    std::vector<double> lost;
    for (const std::size_t at : run.calls) {
      lost.push_back(step.calls[at].lost);
      recorded += step.calls[at].transfer_ns;
      fitted += fits.time_ns(step.calls[at], static_cast<double>(*step.calls[at].bytes)).value_or(0);
    }
    scale_ = fitted > 0 ? recorded / fitted : 1;
    lost_ = median(std::move(lost));
    fill_delays();
  }

  [[nodiscard]] ReplayedCall call(const Piece& piece) const {
    ReplayedCall out = of(piece.last);
    out.bytes = std::llround(piece.bytes);
    out.transfer_ns = fits_.time_ns(out, piece.bytes).value_or(out.transfer_ns) * scale_;
    out.lost = lost_;
    out.recut = true;
    for (std::size_t r = 0; r < out.ranks.size(); ++r) {
      if (!out.ranks[r].there) continue;
      out.ranks[r].ready = ready(piece, r);
      out.ranks[r].after_ready_ns = after_ready_[r];
      out.ranks[r].after_queue_ns = after_queue_[r];
      out.ranks[r].beside_ratio = beside_[r];
      out.ranks[r].stops.reset();
      for (std::size_t k = piece.first; k <= piece.last; ++k) {
        const auto& stops = of(k).ranks[r].stops;
        if (stops) out.ranks[r].stops = std::min(out.ranks[r].stops.value_or(*stops), *stops);
      }
      if (out.ranks[r].stops) out.ranks[r].stops = std::max(*out.ranks[r].stops, out.ranks[r].ready);
    }
    return out;
  }

 private:
  [[nodiscard]] const ReplayedCall& of(std::size_t k) const { return step_.calls[run_.calls[k]]; }

  void fill_delays() {
    const std::size_t ranks = of(0).ranks.size();
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<double> ready, queue, beside;
      for (std::size_t k = 0; k < run_.calls.size(); ++k) {
        ready.push_back(of(k).ranks[r].after_ready_ns);
        queue.push_back(of(k).ranks[r].after_queue_ns);
        beside.push_back(static_cast<double>(of(k).ranks[r].beside_ratio));
      }
      beside_.push_back(static_cast<float>(median(std::move(beside))));
      after_ready_.push_back(median(std::move(ready)));
      after_queue_.push_back(median(std::move(queue)));
    }
  }

  // When the recorded bucket k begins to fill. Of the first: at the pace of the second.
  [[nodiscard]] double begins_to_fill(std::size_t k, std::size_t rank) const {
    const double own = of(k).ranks[rank].ready;
    if (k > 0) return of(k - 1).ranks[rank].there ? std::min(of(k - 1).ranks[rank].ready, own) : own;
    if (run_.calls.size() < 2 || !of(1).ranks[rank].there) return own;
    const double next = of(1).ranks[rank].ready - own;
    const double pace = static_cast<double>(*of(0).bytes) / static_cast<double>(*of(1).bytes);
    return std::min(own, std::max(step_.begin[rank], own - std::max(0.0, next) * pace));
  }

  [[nodiscard]] double ready(const Piece& piece, std::size_t rank) const {
    const double own = of(piece.last).ranks[rank].ready;
    if (fill_ == BucketFill::late) return own;
    const double begin = begins_to_fill(piece.last, rank);
    return begin + piece.of_last * (own - begin);
  }

  const ReplayedStep& step_;
  const BucketRun& run_;
  BucketFill fill_;
  const LinkFits& fits_;
  double scale_ = 1;
  double lost_ = 0;  // of a bucket's pace beside kernels
  std::vector<double> after_ready_, after_queue_;
  std::vector<float> beside_;
};

bool ready_everywhere(const ReplayedStep& step, const BucketRun& run) {
  return std::all_of(run.calls.begin(), run.calls.end(), [&](std::size_t at) {
    const auto& ranks = step.calls[at].ranks;
    return std::all_of(ranks.begin(), ranks.end(),
                       [](const auto& of) { return !of.there || of.ready_known; });
  });
}

// The smallest recorded bucket, those at the row's ends aside if there are others: programs begin with a small one, and
// end with what is left.
double smallest_bucket(const ReplayedStep& step, const BucketRun& run) {
  const std::size_t aside = run.calls.size() > kEdgeBuckets ? 1 : 0;
  std::vector<double> bytes;
  for (std::size_t i = aside; i + 1 < run.calls.size(); ++i)
    bytes.push_back(static_cast<double>(*step.calls[run.calls[i]].bytes));
  return *std::min_element(bytes.begin(), bytes.end());
}

// The step's calls with those of the runs replaced, each run in the place of its first call.
void replace(ReplayedStep& step, const std::vector<BucketRun>& runs, double wanted, BucketFill fill,
             const LinkFits& fits) {
  std::vector<std::vector<ReplayedCall>> instead(step.calls.size());
  std::vector<bool> gone(step.calls.size(), false);
  for (const BucketRun& run : runs) {
    std::vector<double> bytes;
    for (const std::size_t at : run.calls) {
      bytes.push_back(static_cast<double>(*step.calls[at].bytes));
      gone[at] = true;
    }
    const Recut recut(step, run, fill, fits);
    for (const Piece& piece : cut(bytes, wanted, fill))
      instead[run.calls[piece.last]].push_back(recut.call(piece));
  }
  std::vector<ReplayedCall> calls;
  for (std::size_t at = 0; at < step.calls.size(); ++at) {
    if (!gone[at]) calls.push_back(std::move(step.calls[at]));
    for (ReplayedCall& call : instead[at]) calls.push_back(std::move(call));
  }
  step.calls = std::move(calls);
}

}  // namespace

std::vector<BucketRun> bucket_runs(const ReplayedStep& step) {
  std::vector<BucketRun> runs;
  std::vector<std::optional<std::size_t>> open;  // by communicator: place of its run
  for (std::size_t at = 0; at < step.calls.size(); ++at) {
    const ReplayedCall& call = step.calls[at];
    if (open.size() <= call.group) open.resize(call.group + 1);
    std::optional<std::size_t>& of_group = open[call.group];
    if (!reduces_gradients(call)) {
      of_group.reset();
      continue;
    }
    if (of_group) {
      const ReplayedCall& before = step.calls[runs[*of_group].calls.back()];
      if (before.function != call.function || needed_before(before, call)) of_group.reset();
    }
    if (!of_group) {
      of_group = runs.size();
      runs.emplace_back();
    }
    runs[*of_group].calls.push_back(at);
  }
  // One that the program needs before it goes on is no bucket of several, and nothing says that it could be.
  std::erase_if(runs, [](const BucketRun& run) { return run.calls.size() < 2; });
  return runs;
}

void take_hidden_as_waited(ReplayedStep& step) {
  std::vector<bool> in_run(step.calls.size(), false);
  for (const BucketRun& run : bucket_runs(step)) {
    for (const std::size_t at : run.calls) in_run[at] = true;
  }
  for (std::size_t at = 0; at < step.calls.size(); ++at) {
    if (in_run[at]) continue;
    for (ReplayedCall::OfRank& of : step.calls[at].ranks) {
      if (!of.stops) of.stops = of.may_stop;
    }
  }
}

RebucketOutcome can_rebucket(const StepChain& chain, std::int64_t bucket_bytes) {
  bool any = false;
  for (const ReplayedStep& step : chain.steps) {
    for (const BucketRun& run : bucket_runs(step)) {
      any = true;
      if (!ready_everywhere(step, run)) return RebucketOutcome::ready_unknown;
      if (static_cast<double>(bucket_bytes) < (1 - kNearEdge) * smallest_bucket(step, run))
        return RebucketOutcome::finer;
    }
  }
  return any ? RebucketOutcome::done : RebucketOutcome::no_buckets;
}

void rebucket(ReplayedStep& step, std::int64_t bucket_bytes, BucketFill fill, const LinkFits& fits) {
  replace(step, bucket_runs(step), static_cast<double>(bucket_bytes), fill, fits);
}

}  // namespace ridgeline::analyzer::ranks
