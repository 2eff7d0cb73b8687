#include "execution/stream_order.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "execution/graph_order.h"

namespace ridgeline::analyzer {

namespace {

using Index = RecordedStep::Index;

// Of a step: with more, its order is as good as not recorded, and nobody could follow it in time.
constexpr std::size_t kMaxDependencies = 2'000'000;

// A piece of work of this repetition, which is pass 1, or of one before.
struct Ref {
  Index work = 0;
  int pass = 0;
  friend bool operator==(const Ref&, const Ref&) = default;
  friend auto operator<=>(const Ref&, const Ref&) = default;
};
using Refs = std::vector<Ref>;

void add_all(Refs& to, const Refs& from) {
  to.insert(to.end(), from.begin(), from.end());
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

// Goes through calls and work in the order in which the host made them. Of each stream it knows the last work, and what
// the next must wait for beside it. A step that repeats is gone through twice: what is left of the first time is what
// the step before leaves to this one.
class Orderer {
 public:
  explicit Orderer(const OrderedStep& step)
      : step_(step), graphs_(step.nodes, step.edges), streams_(step.streams.size()) {
    out_.graph_known.assign(step.works.size(), false);
    order_works();
  }

  StepOrder order() {
    for (int pass = step_.repeats ? 0 : 1; pass <= 1; ++pass) {
      pass_ = pass;
      run();
      if (pass == 0) records_before_ = records_;
    }
    out_.complete = kinds_known() && !gave_up_;
    if (gave_up_) out_.dependencies.clear();
    return std::move(out_);
  }

 private:
  struct State {
    Refs last;                  // that ended the stream's work so far; several after a graph
    Refs pending;               // of other streams, that the next work waits for
    std::uint64_t version = 0;  // of these
    std::map<std::uint32_t, std::uint64_t> seen;  // version of another stream that this one waits for already
  };

  // By call; the nodes of a graph together, in the order in which they ran.
  void order_works() {
    works_.resize(step_.works.size());
    for (Index i = 0; i < works_.size(); ++i) works_[i] = i;
    std::stable_sort(works_.begin(), works_.end(), [&](Index a, Index b) {
      return step_.works[a].correlation_id < step_.works[b].correlation_id;
    });
  }

  void run() {
    std::size_t call = 0;
    for (std::size_t at = 0; at < works_.size() && !gave_up_;) {
      const std::int64_t correlation_id = step_.works[works_[at]].correlation_id;
      for (; call < step_.calls.size() && step_.calls[call].correlation_id < correlation_id; ++call)
        make(step_.calls[call]);
      std::size_t end = at + 1;
      while (end < works_.size() && step_.works[works_[end]].correlation_id == correlation_id) ++end;
      if (step_.works[works_[at]].node)
        launch_graph(at, end);
      else
        for (std::size_t i = at; i < end; ++i) issue(works_[i]);
      at = end;
    }
    for (; call < step_.calls.size(); ++call) make(step_.calls[call]);
  }

  [[nodiscard]] bool blocking(std::uint32_t stream) const {
    const auto kind = step_.streams[stream].kind;
    return kind == StreamKind::blocking || kind == StreamKind::per_thread;
  }
  // The legacy stream waits for all blocking ones of its context, and they for it.
  void add_barriers(std::uint32_t stream) {
    const bool legacy = step_.streams[stream].kind == StreamKind::legacy;
    if (!legacy && !blocking(stream)) return;
    for (std::uint32_t other = 0; other < streams_.size(); ++other) {
      const bool counts = legacy ? blocking(other) : step_.streams[other].kind == StreamKind::legacy;
      if (other == stream || !counts || step_.streams[other].context != step_.streams[stream].context)
        continue;
      std::uint64_t& seen = streams_[stream].seen[other];
      if (seen == streams_[other].version) continue;
      seen = streams_[other].version;
      wait_for(stream, streams_[other].last);
      wait_for(stream, streams_[other].pending);
    }
  }
  void wait_for(std::uint32_t stream, const Refs& refs) {
    if (refs.empty()) return;
    add_all(streams_[stream].pending, refs);
    ++streams_[stream].version;
  }
  [[nodiscard]] Refs all_before(std::uint32_t stream) {
    add_barriers(stream);
    Refs refs = streams_[stream].last;
    add_all(refs, streams_[stream].pending);
    return refs;
  }

  void make(const OrderedStep::Call& call) {
    switch (call.call) {
      case StreamCall::event_record: {
        if (!call.event) return;
        Refs refs = call.stream ? all_before(*call.stream) : Refs();
        records_[call.correlation_id] = refs;
        events_[*call.event] = std::move(refs);
        return;
      }
      case StreamCall::event_wait:
        if (call.stream) wait_for(*call.stream, recorded(call));
        return;
      case StreamCall::event_awaited:
        return await(call, recorded(call));
      case StreamCall::stream_awaited:
        if (call.stream) await(call, all_before(*call.stream));
        return;
      default:
        return;  // how long a stream waits for the host is in the pause
    }
  }
  // A record that is of no call of this step was made in the step before.
  [[nodiscard]] Refs recorded(const OrderedStep::Call& call) const {
    if (!call.source_id) return {};
    if (call.source_back > 0) return recorded_before(*call.source_id, call.source_back);
    if (const auto known = records_.find(*call.source_id); known != records_.end()) return known->second;
    const auto event = call.event ? events_.find(*call.event) : events_.end();
    return event != events_.end() ? event->second : Refs();
  }

  [[nodiscard]] Refs recorded_before(std::int64_t source_id, std::uint32_t back) const {
    const auto known = records_before_.find(source_id);
    Refs refs = known != records_before_.end() ? known->second : Refs();
    for (Ref& ref : refs) ref.pass -= static_cast<int>(back) - 1;
    return refs;
  }

  void await(const OrderedStep::Call& call, const Refs& refs) {
    if (pass_ == 0) return;
    auto& awaited = out_.awaited[call.correlation_id];
    for (const Ref& ref : refs) awaited.push_back({ref.work, static_cast<std::uint32_t>(pass_ - ref.pass)});
  }

  void depend(Index to, const Ref& from) {
    if (pass_ == 0) return;
    if (out_.dependencies.size() >= kMaxDependencies) {
      gave_up_ = true;
      return;
    }
    out_.dependencies.push_back({from.work, to, static_cast<std::uint32_t>(pass_ - from.pass)});
  }

  // The stream's own order is known without dependencies, unless several pieces of work ended it or begin now.
  void issue(Index work) {
    const std::uint32_t stream = step_.works[work].stream;
    begin(stream, {work});
    end(stream, {{work, pass_}});
  }
  void begin(std::uint32_t stream, const std::vector<Index>& first) {
    add_barriers(stream);
    for (const Index work : first) {
      for (const Ref& ref : streams_[stream].pending) depend(work, ref);
      if (streams_[stream].last.size() < 2 && first.size() < 2) continue;
      for (const Ref& ref : streams_[stream].last) depend(work, ref);
    }
  }
  void end(std::uint32_t stream, Refs last) {
    streams_[stream].last = std::move(last);
    streams_[stream].pending.clear();
    ++streams_[stream].version;
  }

  void launch_graph(std::size_t first, std::size_t last) {
    std::unordered_map<std::int64_t, Index> work_of;
    std::unordered_set<std::int64_t> ran;
    bool known = true;
    for (std::size_t i = first; i < last; ++i) {
      const auto node = step_.works[works_[i]].node;
      known = known && node && graphs_.knows(*node) && work_of.emplace(*node, works_[i]).second;
      if (node) ran.insert(*node);
    }
    const std::uint32_t stream = step_.works[works_[first]].stream;
    std::vector<Index> roots;
    std::unordered_set<Index> followed;
    for (std::size_t i = first; i < last; ++i) {
      const Index work = works_[i];
      out_.graph_known[work] = known;
      if (!known) continue;
      const std::vector<std::int64_t> before = graphs_.before(*step_.works[work].node, ran);
      if (before.empty()) roots.push_back(work);
      for (const std::int64_t node : before) {
        followed.insert(work_of[node]);
        depend(work, {work_of[node], pass_});
      }
    }
    Refs ends;
    for (std::size_t i = first; i < last; ++i) {
      if (!known) roots.push_back(works_[i]);
      if (!followed.contains(works_[i])) ends.push_back({works_[i], pass_});
    }
    begin(stream, roots);
    end(stream, std::move(ends));
  }

  [[nodiscard]] bool kinds_known() const {
    if (step_.streams.size() < 2) return true;
    return std::all_of(step_.streams.begin(), step_.streams.end(),
                       [](const OrderedStep::Stream& stream) { return stream.kind.has_value(); });
  }

  const OrderedStep& step_;
  GraphOrder graphs_;
  StepOrder out_;
  std::vector<Index> works_;
  std::vector<State> streams_;
  std::unordered_map<std::int64_t, Refs> records_;         // what an event stood for, by the record's call
  std::unordered_map<std::int64_t, Refs> records_before_;  // the same of the repetition before
  std::unordered_map<std::int64_t, Refs> events_;          // and by the event, as recorded last
  int pass_ = 0;
  bool gave_up_ = false;
};

}  // namespace

StepOrder order_of(const OrderedStep& step) {
  return Orderer(step).order();
}

}  // namespace ridgeline::analyzer
