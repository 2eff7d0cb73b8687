#include "execution/step_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

using Index = RecordedStep::Index;
using Point = StepGraph::Point;
constexpr Index kNone = RecordedStep::kNone;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

// Where the recording does not show them.
constexpr std::int64_t kUsualPauseNs = 1000;
constexpr std::int64_t kUsualLatencyNs = 4000;
constexpr std::int64_t kLongestLatencyNs = 50'000;
constexpr double kShortLatencyQuantile = 0.10;
// A call that finds nothing to wait for takes this long.
constexpr std::int64_t kShortWaitNs = 2000;
// Ends of work looked at for the one that a call or a stream waited for.
constexpr int kMaxExamined = 256;
// The farthest repetition back that a call may have waited for.
constexpr std::uint32_t kFarthestBack = 4;
// A launch call that takes this much longer than most do, with that much work queued, waited for room in the queue.
constexpr std::int64_t kBlockedCallNs = 20'000;
constexpr std::int64_t kBlockedTimes = 5;
constexpr std::int64_t kLongestUsualCallNs = 10'000;
constexpr std::int64_t kShortestQueue = 256;
constexpr std::uint32_t kFarthestQueued = 64;
constexpr std::int64_t kMaxPeriods = 1'000'000;

// Another moment that one waits for, of this repetition or of an earlier one.
struct Source {
  Index index = kNone;
  std::uint32_t back = 0;
  std::int64_t time_ns =
      kNever;  // on the clock of the recording, as if that repetition had been like this one
};

class Builder {
 public:
  Builder(const RecordedStep& step, const BuildOptions& options, const StepEdit& edit)
      : step_(step), options_(options), edit_(edit), period_ns_(step.end_ns - step.start_ns) {
    host_period_ns_ = step.host_end_ns - step.host_start_ns;
  }

  BuiltStep build() {
    order_calls();
    order_works();
    number_nodes();
    find_streams();
    find_usual_times();
    find_host_order();
    find_queue();
    for (const Placed& placed : order_) {
      if (placed.kind == Kind::work) {
        add_work(placed.index);
        last_issued_[step_.works[placed.index].stream] = placed.index;
      } else if (placed.kind == Kind::returned) {
        add_return(placed.index);
      } else {
        add_call(placed.index);
      }
    }
    if (!step_.repeats) out_.offset_ns = step_.start_ns - origin_ns_;
    if (step_.repeats) {
      out_.anchor = out_.node_of_work[step_.first];
    } else {
      add_finish();
    }
    return std::move(out_);
  }

 private:
  // A call that waits for what it issues itself, a copy as a rule, is two nodes: before the work, and after it.
  enum class Kind { call, work, returned };
  // A node to come, in an order in which each waits only for those before it.
  struct Placed {
    std::int64_t time_ns = 0;  // on the host
    Index call = kNone;        // place of the call in calls_, of work too
    Kind kind = Kind::call;
    Index index = kNone;  // place of the call in calls_, or into RecordedStep::works
  };

  [[nodiscard]] const RecordedStep::Call& call_at(Index place) const { return step_.calls[calls_[place]]; }

  void order_calls() {
    calls_.resize(step_.calls.size());
    for (Index i = 0; i < calls_.size(); ++i) calls_[i] = i;
    std::stable_sort(calls_.begin(), calls_.end(), [&](Index a, Index b) {
      return std::tie(step_.calls[a].start_ns, step_.calls[a].end_ns) <
             std::tie(step_.calls[b].start_ns, step_.calls[b].end_ns);
    });
    place_of_call_.resize(calls_.size());
    for (Index i = 0; i < calls_.size(); ++i) place_of_call_[calls_[i]] = i;
    origin_ns_ = step_.repeats ? step_.host_start_ns : step_.start_ns;
    if (!calls_.empty() && !step_.repeats) origin_ns_ = std::min(origin_ns_, call_at(0).start_ns);
  }

  // When a piece of work was issued at the earliest; without any call, when it began.
  [[nodiscard]] std::int64_t issued_ns(const RecordedStep::Work& work) const {
    if (work.call != kNone) return step_.calls[work.call].start_ns;
    if (work.after != kNone) return step_.calls[work.after].end_ns - work.after_back * host_period_ns_;
    return work.start_ns;
  }

  void order_works() {
    own_work_.assign(calls_.size(), kNone);
    works_of_call_.assign(calls_.size(), 0);
    for (Index i = 0; i < step_.works.size(); ++i) {
      const RecordedStep::Work& work = step_.works[i];
      const Index place = work.call == kNone ? kNone : place_of_call_[work.call];
      order_.push_back({issued_ns(work), place, Kind::work, i});
      if (place == kNone) continue;
      own_work_[place] = i;
      ++works_of_call_[place];
    }
    for (Index i = 0; i < calls_.size(); ++i) {
      order_.push_back({call_at(i).start_ns, i, Kind::call, i});
      if (returns_apart(i)) order_.push_back({call_at(i).start_ns, i, Kind::returned, i});
    }
    // Work comes right after its call; what no call is known of, after those of the same time.
    const auto key = [&](const Placed& p) {
      return std::tuple(p.time_ns, p.call, p.kind,
                        p.kind == Kind::work ? step_.works[p.index].start_ns : std::int64_t{0});
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](const Placed& a, const Placed& b) { return key(a) < key(b); });
  }
  [[nodiscard]] bool returns_apart(Index place) const {
    return call_at(place).waits && own_work_[place] != kNone;
  }

  void number_nodes() {
    start_of_call_.resize(calls_.size());
    node_of_call_.resize(calls_.size());
    out_.node_of_work.resize(step_.works.size());
    NodeIndex node = 0;
    for (const Placed& placed : order_) {
      if (placed.kind == Kind::work) {
        out_.node_of_work[placed.index] = node;
      } else {
        if (placed.kind == Kind::call) start_of_call_[placed.index] = node;
        node_of_call_[placed.index] = node;
      }
      ++node;
    }
  }

  // The order of each stream, and all work by its end.
  void find_streams() {
    previous_.assign(step_.works.size(), {});
    std::map<std::uint32_t, std::pair<Index, Index>> streams;  // first, last so far
    std::unordered_map<Index, Index> before_graph;  // by the call that launched it: the last of its stream
    for (const Placed& placed : order_) {
      if (placed.kind != Kind::work) continue;
      const RecordedStep::Work& work = step_.works[placed.index];
      const auto [stream, fresh] = streams.try_emplace(work.stream, placed.index, placed.index);
      if (fresh) continue;
      const Index last = stream->second.second;
      previous_[placed.index] = {last, 0, step_.works[last].end_ns};
      // The nodes of a graph may run side by side; what comes after them on the stream follows the last to end.
      const bool same_graph = work.graph && step_.works[last].graph && step_.works[last].call == work.call;
      if (work.order_known) {
        const Index before = before_graph.try_emplace(work.call, same_graph ? kNone : last).first->second;
        previous_[placed.index] = before == kNone ? Source{} : Source{before, 0, step_.works[before].end_ns};
      }
      if (!same_graph || step_.works[last].end_ns <= work.end_ns) stream->second.second = placed.index;
    }
    if (step_.repeats) {
      for (const auto& [stream, ends] : streams)
        previous_[ends.first] = {ends.second, 1, step_.works[ends.second].end_ns - period_ns_};
    }
    by_end_.resize(step_.works.size());
    for (Index i = 0; i < by_end_.size(); ++i) by_end_[i] = i;
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](Index a, Index b) { return step_.works[a].end_ns < step_.works[b].end_ns; });
    find_graph_order();
  }

  // A node of a graph follows the one of the same launch that ended last before it began.
  void find_graph_order() {
    std::unordered_map<Index, std::vector<Index>> graphs;  // nodes by their launch, by end
    for (const Index i : by_end_) {
      const RecordedStep::Work& work = step_.works[i];
      if (work.graph && work.call != kNone) graphs[work.call].push_back(i);
    }
    for (const auto& [call, nodes] : graphs) {
      for (const Index i : nodes) {
        const RecordedStep::Work& work = step_.works[i];
        if (work.order_known) {
          follow_in_graph(i);
          continue;
        }
        const auto after = std::upper_bound(
            nodes.begin(), nodes.end(), work.start_ns,
            [&](std::int64_t at_ns, Index node) { return at_ns < step_.works[node].end_ns; });
        for (auto node = after; node != nodes.begin();) {
          --node;
          if (*node == i || out_.node_of_work[*node] > out_.node_of_work[i]) continue;
          previous_[i] = {*node, 0, step_.works[*node].end_ns};
          in_graph_.push_back(i);
          break;
        }
      }
    }
    std::sort(in_graph_.begin(), in_graph_.end());
  }
  // Of the nodes that it is recorded to wait for it follows the last to end.
  void follow_in_graph(Index work) {
    Source last;
    for (const RecordedStep::Dependency& dependency : dependencies_of(work)) {
      const RecordedStep::Work& from = step_.works[dependency.from];
      if (dependency.back > 0 || from.call != step_.works[work].call || !usable(dependency)) continue;
      if (from.end_ns > last.time_ns) last = {dependency.from, 0, from.end_ns};
    }
    if (last.index == kNone) return;
    previous_[work] = last;
    in_graph_.push_back(work);
  }
  [[nodiscard]] bool inside_graph(Index work) const {
    return std::binary_search(in_graph_.begin(), in_graph_.end(), work);
  }

  // How long a queued kernel takes to follow the one before it, and an idle GPU to start what is launched.
  void find_usual_times() {
    std::vector<double> pauses, latencies;
    for (Index i = 0; i < step_.works.size(); ++i) {
      const RecordedStep::Work& work = step_.works[i];
      if (work.call == kNone || inside_graph(i)) continue;
      const std::int64_t call_ns = step_.calls[work.call].start_ns;
      const Source& before = previous_[i];
      const std::int64_t pause_ns = before.index == kNone ? -1 : work.start_ns - before.time_ns;
      const std::int64_t latency_ns = work.start_ns - call_ns;
      if (pause_ns >= 0 && pause_ns <= options_.launch_latency_ns && latency_ns > kLongestLatencyNs)
        pauses.push_back(static_cast<double>(pause_ns));
      if ((before.index == kNone || before.time_ns < call_ns) && latency_ns > 0 &&
          latency_ns <= kLongestLatencyNs)
        latencies.push_back(static_cast<double>(latency_ns));
    }
    if (!pauses.empty()) pause_ns_ = static_cast<std::int64_t>(median(std::move(pauses)));
    if (!latencies.empty())
      latency_ns_ = static_cast<std::int64_t>(quantile(std::move(latencies), kShortLatencyQuantile));
  }

  // Which call each call follows: the thread's own one before, or, where threads take turns, the other's last.
  void find_host_order() {
    call_before_.assign(calls_.size(), {});
    // Of each place: the last and the next launch of any thread.
    std::vector<Index> launch_before(calls_.size(), kNone), launch_after(calls_.size(), kNone);
    std::unordered_map<std::int64_t, Index> last_of;
    Index last = kNone;
    for (Index i = 0; i < calls_.size(); ++i) {
      launch_before[i] = last;
      if (!call_at(i).waits) last = i;
    }
    Index next = kNone;
    for (Index i = static_cast<Index>(calls_.size()); i-- > 0;) {
      launch_after[i] = next;
      if (!call_at(i).waits) next = i;
    }
    std::unordered_map<std::int64_t, Index> first_of;
    for (Index i = 0; i < calls_.size(); ++i) {
      const std::int64_t thread = call_at(i).thread_id;
      const auto [known, fresh] = last_of.try_emplace(thread, i);
      if (fresh) {
        first_of[thread] = i;
        continue;
      }
      call_before_[i] = follow({known->second, 0, call_at(known->second).end_ns}, i,
                               launch_after[known->second], launch_before[i], 0);
      known->second = i;
    }
    if (!step_.repeats) return;
    for (const auto& [thread, first] : first_of) {
      const Index own = last_of[thread];
      // What another thread did since then is before this call, or after the thread's last one in the step before.
      const bool turn_in_step = launch_before[first] != kNone;
      const Index since =
          launch_after[own] != kNone ? launch_after[own] : launch_after_none(launch_before[first]);
      const Index until = turn_in_step ? launch_before[first] : last_launch(launch_before, launch_after, own);
      call_before_[first] = follow({own, 1, call_at(own).end_ns - host_period_ns_}, first, since, until,
                                   turn_in_step ? 0U : 1U, launch_after[own] != kNone ? 1U : 0U);
    }
  }
  [[nodiscard]] Index launch_after_none(Index until) const { return until == kNone ? kNone : first_launch(); }
  [[nodiscard]] Index first_launch() const {
    for (Index i = 0; i < calls_.size(); ++i) {
      if (!call_at(i).waits) return i;
    }
    return kNone;
  }
  // The last launch of the step that comes after `own`, if any does.
  [[nodiscard]] Index last_launch(const std::vector<Index>& before, const std::vector<Index>& after,
                                  Index own) const {
    if (after[own] == kNone) return kNone;
    const auto end = static_cast<Index>(calls_.size() - 1);
    return call_at(end).waits ? before[end] : end;
  }

  // `own` unless other threads launched during at least half of the time since: then their last launch.
  Source follow(const Source& own, Index call, Index since, Index until, std::uint32_t until_back,
                std::uint32_t since_back = 0) const {
    if (since == kNone || until == kNone) return own;
    const RecordedStep::Call& other = call_at(until);
    if (other.thread_id == call_at(call).thread_id) return own;
    const std::int64_t since_ns = call_at(since).start_ns - since_back * host_period_ns_;
    const std::int64_t until_ns = other.end_ns - until_back * host_period_ns_;
    const std::int64_t idle_ns = call_at(call).start_ns - own.time_ns;
    if (until_ns > call_at(call).start_ns || since_ns < own.time_ns || until_ns < since_ns) return own;
    if (2 * (until_ns - since_ns) < idle_ns) return own;
    return {until, until_back, until_ns};
  }

  // Of the work that usable(work, back) lets count the last that had ended by `time_ns`.
  template <typename Usable>
  [[nodiscard]] Source last_ended(std::int64_t time_ns, std::uint32_t max_back, const Usable& usable) const {
    Source found;
    for (std::uint32_t back = 0; back <= (step_.repeats ? max_back : 0U); ++back) {
      const std::int64_t at_ns = time_ns + back * period_ns_;
      auto end = std::upper_bound(by_end_.begin(), by_end_.end(), at_ns,
                                  [&](std::int64_t t, Index i) { return t < step_.works[i].end_ns; });
      for (int looked = 0; end != by_end_.begin() && looked < kMaxExamined; ++looked) {
        --end;
        const std::int64_t ended_ns = step_.works[*end].end_ns - back * period_ns_;
        if (ended_ns <= found.time_ns) break;
        if (!usable(*end, back)) continue;
        found = {*end, back, ended_ns};
        break;
      }
    }
    return found;
  }

  // How many pieces of work a thread may issue ahead of the GPU, where calls show that it ran into that limit.
  void find_queue() {
    for (const Placed& placed : order_) {
      if (placed.kind != Kind::work) continue;
      const RecordedStep::Work& work = step_.works[placed.index];
      if (work.call == kNone) continue;
      if (!issue_order_.empty() && step_.works[issue_order_.back()].call == work.call)
        continue;  // of one graph
      issue_order_.push_back(placed.index);
    }
    std::vector<std::int64_t> lengths, starts;
    for (const Index i : issue_order_) {
      const RecordedStep::Call& call = step_.calls[step_.works[i].call];
      if (!call.waits) lengths.push_back(call.end_ns - call.start_ns);
      starts.push_back(step_.works[i].start_ns);
    }
    if (lengths.empty() || period_ns_ <= 0) return;
    usual_call_ns_ = std::min(*std::min_element(lengths.begin(), lengths.end()), kLongestUsualCallNs);
    std::sort(starts.begin(), starts.end());
    place_in_issue_.assign(step_.works.size(), kNone);
    for (Index i = 0; i < issue_order_.size(); ++i) {
      place_in_issue_[issue_order_[i]] = i;
      const RecordedStep::Call& call = step_.calls[step_.works[issue_order_[i]].call];
      if (!blocked(call)) continue;
      const std::int64_t queued = i - started_by(starts, call.start_ns);
      if (queued >= kShortestQueue && (queue_ == 0 || queued < queue_)) queue_ = queued;
    }
  }
  [[nodiscard]] bool blocked(const RecordedStep::Call& call) const {
    return !call.waits &&
           call.end_ns - call.start_ns > std::max(kBlockedCallNs, kBlockedTimes * usual_call_ns_);
  }
  // Work that had started by then, counted from the first of this step; negative: of steps before.
  [[nodiscard]] std::int64_t started_by(const std::vector<std::int64_t>& starts, std::int64_t time_ns) const {
    std::int64_t back = 0;
    if (step_.repeats && time_ns < step_.start_ns)
      back = std::min((step_.start_ns - time_ns + period_ns_ - 1) / period_ns_, kMaxPeriods);
    const auto started =
        std::upper_bound(starts.begin(), starts.end(), time_ns + back * period_ns_) - starts.begin();
    return started - back * static_cast<std::int64_t>(starts.size());
  }

  // The edge to a call that is `queue_` places before work in the order of issue, if the call waited for room.
  [[nodiscard]] Source room_behind(Index work) const {
    if (queue_ == 0 || place_in_issue_[work] == kNone) return {};
    const auto size = static_cast<std::int64_t>(issue_order_.size());
    std::int64_t place = place_in_issue_[work] - queue_;
    std::uint32_t back = 0;
    while (place < 0 && back <= kFarthestQueued) {
      place += size;
      ++back;
    }
    if (place < 0 || (back > 0 && !step_.repeats)) return {};
    const Index index = issue_order_[static_cast<std::size_t>(place)];
    if (back == 0 && out_.node_of_work[index] >= start_of_call_[place_of_call_[step_.works[work].call]])
      return {};
    return {index, back, step_.works[index].start_ns - back * period_ns_};
  }

  void add_call(Index place) {
    const RecordedStep::Call& call = call_at(place);
    const Source& before = call_before_[place];
    const std::int64_t length_ns = std::max<std::int64_t>(call.end_ns - call.start_ns, 0);
    const bool begins = before.index == kNone || before.back > 0;
    const std::int64_t release_ns = begins ? std::max<std::int64_t>(call.start_ns - origin_ns_, 0) : 0;
    if (returns_apart(place)) {
      out_.graph.add_node(0, release_ns);
      follow_call(before, place);
      return;
    }
    if (call.waits) {
      const Source awaited = awaited_by(place);
      const std::int64_t own_ns = waited(call, awaited) ? std::min(length_ns, kShortWaitNs) : length_ns;
      out_.graph.add_node(length_with_edit(place, own_ns), release_ns);
      follow_call(before, place);
      if (waits_with_edit(place)) await(call, awaited);
      return;
    }
    const Index work = own_work_[place];
    const Source room = work == kNone ? Source{} : room_behind(work);
    const bool full = room.index != kNone && blocked(call);
    const std::int64_t edited_ns =
        length_with_edit(place, full ? std::min(length_ns, usual_call_ns_) : length_ns);
    const std::int64_t less_ns =
        std::llround(edit_.less_per_work_ns * static_cast<double>(works_of_call_[place]));
    const std::int64_t of_call_ns = std::clamp<std::int64_t>(less_ns, 0, edited_ns);
    out_.graph.add_node(edited_ns - of_call_ns, release_ns);
    follow_call(before, place, less_ns - of_call_ns);
    if (room.index == kNone) return;
    const std::int64_t lag_ns =
        full ? std::clamp<std::int64_t>(call.end_ns - room.time_ns, 0, kBlockedCallNs) : 0;
    out_.graph.add_end_edge({out_.node_of_work[room.index], room.back, lag_ns, Point::start});
  }

  void add_return(Index place) {
    const RecordedStep::Call& call = call_at(place);
    const std::int64_t length_ns = std::max<std::int64_t>(call.end_ns - call.start_ns, 0);
    const Source awaited = awaited_by(place);
    const std::int64_t own_ns = waited(call, awaited) ? std::min(length_ns, kShortWaitNs) : length_ns;
    out_.graph.add_node(length_with_edit(place, own_ns));
    out_.graph.add_start_edge({start_of_call_[place], 0, 0, Point::start});
    if (waits_with_edit(place)) await(call, awaited);
  }

  [[nodiscard]] std::int64_t length_with_edit(Index place, std::int64_t length_ns) const {
    const auto edit = edit_.calls.find(calls_[place]);
    return edit == edit_.calls.end() ? length_ns : edit->second.length_ns.value_or(length_ns);
  }

  [[nodiscard]] bool waits_with_edit(Index place) const {
    const auto edit = edit_.calls.find(calls_[place]);
    return edit == edit_.calls.end() || edit->second.waits;
  }

  // The CPU's own time since then is shorter by `less_ns`.
  void follow_call(const Source& before, Index place, std::int64_t less_ns = 0) {
    if (before.index == kNone) return;
    std::int64_t lag_ns = std::max<std::int64_t>(call_at(place).start_ns - before.time_ns - less_ns, 0);
    if (const auto edit = edit_.calls.find(calls_[place]); edit != edit_.calls.end())
      lag_ns = std::min(lag_ns, edit->second.max_own_ns.value_or(lag_ns));
    out_.graph.add_start_edge({node_of_call_[before.index], before.back, lag_ns, Point::end});
  }

  // The last work to end before the call did; of a copy's own call the copy.
  [[nodiscard]] Source awaited_by(Index place) const {
    const RecordedStep::Call& call = call_at(place);
    if (const Index own = own_work_[place]; own != kNone && step_.works[own].end_ns <= call.end_ns)
      return {own, 0, step_.works[own].end_ns};
    if (const Source recorded = recorded_await(place); recorded.index != kNone) return recorded;
    return last_ended(call.end_ns, kFarthestBack, [&](Index i, std::uint32_t back) {
      return back > 0 || out_.node_of_work[i] < node_of_call_[place];
    });
  }
  // Of what the call is recorded to wait for the last to end.
  [[nodiscard]] Source recorded_await(Index place) const {
    const RecordedStep::Call& call = call_at(place);
    Source last;
    for (const RecordedStep::Awaited& awaited : call.awaited) {
      if (awaited.back > 0 ? !step_.repeats : out_.node_of_work[awaited.work] >= node_of_call_[place])
        continue;
      const std::int64_t ended_ns = step_.works[awaited.work].end_ns - awaited.back * period_ns_;
      if (ended_ns <= call.end_ns && ended_ns > last.time_ns) last = {awaited.work, awaited.back, ended_ns};
    }
    return last;
  }
  [[nodiscard]] static bool waited(const RecordedStep::Call& call, const Source& awaited) {
    return awaited.index != kNone && awaited.time_ns > call.start_ns;
  }
  void await(const RecordedStep::Call& call, const Source& awaited) {
    if (awaited.index == kNone) return;
    const std::int64_t lag_ns = waited(call, awaited) ? call.end_ns - awaited.time_ns : 0;
    out_.graph.add_end_edge({out_.node_of_work[awaited.index], awaited.back, lag_ns, Point::end});
    if (!call.waits_for_all) return;
    for (const auto& [stream, last] : last_issued_) {
      if (last != awaited.index && step_.works[last].end_ns <= call.end_ns)
        out_.graph.add_end_edge({out_.node_of_work[last], 0,
                                 std::min(lag_ns, call.end_ns - step_.works[last].end_ns), Point::end});
    }
  }

  void add_work(Index index) {
    const RecordedStep::Work& work = step_.works[index];
    const Source& before = previous_[index];
    const bool alone = before.index == kNone || before.back > 0;
    const bool in_graph = inside_graph(index);
    const bool has_call = (work.call != kNone || work.after != kNone) && !in_graph;
    // Without a call nothing but its stream holds it back; the first of a stream begins when it was recorded to.
    const bool released = !has_call || !step_.repeats;
    const auto edit = edit_.works.find(index);
    const StepEdit::Work changed = edit == edit_.works.end() ? StepEdit::Work{} : edit->second;
    out_.graph.add_node(changed.duration_ns.value_or(std::max<std::int64_t>(work.end_ns - work.start_ns, 0)),
                        alone && released ? work.start_ns - origin_ns_ : 0);
    const std::int64_t idle_ns = before.index == kNone ? kNever : before.time_ns;
    const std::int64_t call_ns = has_call ? issued_ns(work) : kNever;
    const std::int64_t pause_ns = idle_ns == kNever ? 0 : work.start_ns - idle_ns;
    bool late = has_call &&
                (idle_ns == kNever || latest_issue_ns(work) + latency_ns_ > idle_ns + pause_ns_) &&
                pause_ns >= 0;
    Source cause = recorded_cause(index);
    const bool may_conclude = !step_.dependencies_recorded && !in_graph && cause.index == kNone;
    if (may_conclude && pause_ns > options_.launch_latency_ns &&
        (!late || work.start_ns - call_ns > kLongestLatencyNs))
      cause = other_stream(index, late ? std::max(idle_ns, call_ns) : idle_ns);
    // A stream that waits for an event of another begins some microseconds after it. Nothing else that is known held
    // the work back as long, so that what is left of its pause is that wait's.
    const bool held_last =
        !may_conclude && cause.index != kNone && cause.time_ns > std::max(idle_ns, call_ns);
    const bool caused =
        cause.index != kNone && (held_last || work.start_ns - cause.time_ns <= options_.launch_latency_ns);
    if (held_last && !in_graph && work.start_ns - cause.time_ns > kLongestLatencyNs)
      out_.unexplained_ns += work.start_ns - cause.time_ns;
    if (caused) late = false;
    if (has_call) {
      const std::int64_t recorded_ns = work.start_ns - call_ns;
      const std::int64_t lag_ns = late ? recorded_ns : std::min(recorded_ns, latency_ns_);
      const Index call = work.call != kNone ? work.call : work.after;
      const Index place = place_of_call_[call];
      if (work.call != kNone) {
        out_.graph.add_start_edge({start_of_call_[place], 0, lag_ns, Point::start});
      } else {
        out_.graph.add_start_edge({node_of_call_[place], work.after_back, lag_ns, Point::end});
      }
    }
    if (before.index != kNone) {
      const bool unexplained = !late && !caused && pause_ns > options_.launch_latency_ns;
      if (unexplained && !in_graph) out_.unexplained_ns += pause_ns;
      const std::int64_t kept_ns = late || caused ? std::min(pause_ns, pause_ns_) : pause_ns;
      const std::int64_t max_ns = unexplained ? kept_ns : changed.max_pause_ns.value_or(kept_ns);
      follow_on_stream(work, before, std::min(kept_ns, max_ns));
    }
    if (cause.index != kNone) {
      out_.graph.add_start_edge({out_.node_of_work[cause.index], cause.back,
                                 caused ? work.start_ns - cause.time_ns : 0, Point::end});
    }
    for (const RecordedStep::Dependency& dependency : dependencies_of(index))
      add_dependency(dependency, cause);
  }

  // Work that begins before its predecessor's end is let do so, as a dependent launch may be.
  void follow_on_stream(const RecordedStep::Work& work, const Source& before, std::int64_t pause_ns) {
    const NodeIndex node = out_.node_of_work[before.index];
    const std::int64_t began_ns = step_.works[before.index].start_ns - before.back * period_ns_;
    if (work.start_ns < began_ns) return;
    out_.graph.add_start_edge({node, before.back, pause_ns, Point::end});
    if (pause_ns < 0) out_.graph.add_start_edge({node, before.back, 0, Point::start});
  }

  // A copy without a call of its own was issued before the next call of its thread began.
  [[nodiscard]] std::int64_t latest_issue_ns(const RecordedStep::Work& work) const {
    if (work.call != kNone || work.after == kNone) return issued_ns(work);
    if (work.after_back > 0) return std::min(call_at(0).start_ns, work.start_ns);
    const Index place = place_of_call_[work.after];
    if (place + 1 < calls_.size()) return std::min(call_at(place + 1).start_ns, work.start_ns);
    // After the last call of the step: of a step that repeats the next one begins with its first.
    return step_.repeats ? std::min(call_at(0).start_ns + host_period_ns_, work.start_ns) : work.start_ns;
  }

  // Work of another stream that ended right before this began, after `idle_ns`, in which nothing held it back.
  Source other_stream(Index index, std::int64_t idle_ns) {
    const RecordedStep::Work& work = step_.works[index];
    const Source found = last_ended(work.start_ns, 1, [&](Index i, std::uint32_t back) {
      return step_.works[i].stream != work.stream &&
             (back > 0 || out_.node_of_work[i] < out_.node_of_work[index]);
    });
    if (found.index == kNone || found.time_ns <= idle_ns ||
        work.start_ns - found.time_ns > options_.launch_latency_ns)
      return {};
    ++out_.concluded;
    return found;
  }

  [[nodiscard]] std::vector<RecordedStep::Dependency> dependencies_of(Index index) {
    if (by_target_.empty() && !step_.dependencies.empty()) {
      for (const RecordedStep::Dependency& dependency : step_.dependencies)
        by_target_[dependency.to].push_back(dependency);
    }
    const auto found = by_target_.find(index);
    return found == by_target_.end() ? std::vector<RecordedStep::Dependency>() : found->second;
  }
  [[nodiscard]] bool usable(const RecordedStep::Dependency& dependency) const {
    return dependency.back > 0 ? step_.repeats
                               : out_.node_of_work[dependency.from] < out_.node_of_work[dependency.to];
  }
  // Of the recorded dependencies the one that ended last.
  Source recorded_cause(Index index) {
    Source cause;
    for (const RecordedStep::Dependency& dependency : dependencies_of(index)) {
      const std::int64_t ended_ns = step_.works[dependency.from].end_ns - dependency.back * period_ns_;
      if (usable(dependency) && ended_ns > cause.time_ns && ended_ns <= step_.works[index].start_ns)
        cause = {dependency.from, dependency.back, ended_ns};
    }
    return cause;
  }
  void add_dependency(const RecordedStep::Dependency& dependency, const Source& cause) {
    if (!usable(dependency) || (dependency.from == cause.index && dependency.back == cause.back)) return;
    const std::int64_t ended_ns = step_.works[dependency.from].end_ns - dependency.back * period_ns_;
    if (ended_ns > step_.works[dependency.to].start_ns) return;  // the recording contradicts itself
    out_.graph.add_start_edge({out_.node_of_work[dependency.from], dependency.back, 0, Point::end});
  }

  // Ends when all work has.
  void add_finish() {
    out_.graph.add_node(0);
    for (const NodeIndex node : out_.node_of_work) out_.graph.add_start_edge({node, 0, 0, Point::end});
  }

  const RecordedStep& step_;
  const BuildOptions& options_;
  const StepEdit& edit_;
  const std::int64_t period_ns_;
  std::int64_t host_period_ns_ = 0;
  std::int64_t origin_ns_ = 0;
  std::int64_t pause_ns_ = kUsualPauseNs;
  std::int64_t latency_ns_ = kUsualLatencyNs;
  std::int64_t usual_call_ns_ = 0;
  std::int64_t queue_ = 0;  // 0: no call ran into its limit
  BuiltStep out_;
  std::vector<Index> calls_;  // by time
  std::vector<Index> place_of_call_;
  std::vector<NodeIndex> start_of_call_, node_of_call_;  // by place; two where it returns apart
  std::vector<Index> own_work_;                          // by place: the last it issued
  std::vector<std::int64_t> works_of_call_;              // by place
  std::vector<Source> call_before_;                      // by place; Source::index is a place
  std::vector<Placed> order_;
  std::vector<Source> previous_;                // on the stream, or in the graph
  std::map<std::uint32_t, Index> last_issued_;  // of each stream, among the nodes so far
  std::vector<Index> by_end_;
  std::vector<Index> in_graph_;
  std::vector<Index> issue_order_;
  std::vector<Index> place_in_issue_;
  std::unordered_map<Index, std::vector<RecordedStep::Dependency>> by_target_;
};

}  // namespace

BuiltStep build_graph(const RecordedStep& step, const BuildOptions& options, const StepEdit& edit) {
  return Builder(step, options, edit).build();
}

}  // namespace ridgeline::analyzer
