#include "traces/range_nesting.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxForeignPaths = 1u << 16;
constexpr std::uint16_t kMaxDepth = 1000;

class Nesting {
 public:
  explicit Nesting(ForeignProcess& process) : process_(process) {}

  std::vector<Path> run() {
    auto& ranges = process_.ranges;
    std::sort(ranges.begin(), ranges.end(), [](const ForeignRange& a, const ForeignRange& b) {
      return std::tuple(a.thread_id, a.apart, a.start_ns, -a.end_ns) <
             std::tuple(b.thread_id, b.apart, b.start_ns, -b.end_ns);
    });
    auto& calls = process_.calls;
    std::sort(calls.begin(), calls.end(), [](const ForeignCall& a, const ForeignCall& b) {
      return std::pair(a.thread_id, a.enter_ns) < std::pair(b.thread_id, b.enter_ns);
    });
    std::size_t call = 0;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      ForeignRange& range = ranges[r];
      if (range.apart) {
        range.path = path_of(0, range.name);
        continue;
      }
      if (range.thread_id != thread_) {
        call = finish_thread(call);
        thread_ = range.thread_id;
      }
      for (; call < calls.size() && before(calls[call], range); ++call) place(calls[call]);
      close_before(range.start_ns);
      if (!open_.empty()) {
        range.parent = static_cast<std::uint32_t>(open_.back() + 1);
        range.depth =
            std::min<std::uint16_t>(static_cast<std::uint16_t>(ranges[open_.back()].depth + 1), kMaxDepth);
      }
      range.path = path_of(open_.empty() ? 0 : ranges[open_.back()].path, range.name);
      open_.push_back(r);
    }
    (void)finish_thread(call);
    return std::move(paths_);
  }

 private:
  static bool before(const ForeignCall& call, const ForeignRange& range) {
    return std::pair(call.thread_id, call.enter_ns) < std::pair(range.thread_id, range.start_ns);
  }
  void close_before(std::int64_t time_ns) {
    while (!open_.empty() && process_.ranges[open_.back()].end_ns <= time_ns) open_.pop_back();
  }
  void place(ForeignCall& call) {
    if (call.thread_id != thread_ || !call.timed) return;
    close_before(call.enter_ns);
    if (!open_.empty()) call.path = process_.ranges[open_.back()].path;
  }
  // Calls of the thread that ends, and of threads without ranges, up to where the next one begins.
  std::size_t finish_thread(std::size_t call) {
    for (; call < process_.calls.size() && process_.calls[call].thread_id <= thread_; ++call)
      place(process_.calls[call]);
    open_.clear();
    return call;
  }
  std::uint32_t path_of(std::uint32_t parent, std::uint32_t name) {
    const auto known = numbers_.find({parent, name});
    if (known != numbers_.end()) return known->second;
    if (paths_.size() >= kMaxForeignPaths) return parent;
    Path path{.parent = parent, .name = process_.names.text(name), .domain = std::nullopt};
    if (const std::string& domain = process_.names.domain(name); !domain.empty()) path.domain = domain;
    paths_.push_back(std::move(path));
    const auto number = static_cast<std::uint32_t>(paths_.size());
    numbers_[{parent, name}] = number;
    return number;
  }

  ForeignProcess& process_;
  std::uint32_t thread_ = 0;
  std::vector<std::size_t> open_;
  std::vector<Path> paths_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
};

}  // namespace

std::vector<Path> nest(ForeignProcess& process) {
  return Nesting(process).run();
}

std::vector<std::uint32_t> by_end(const std::vector<ForeignRange>& ranges) {
  std::vector<std::uint32_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(ranges[a].end_ns, -static_cast<int>(ranges[a].depth), a) <
           std::tuple(ranges[b].end_ns, -static_cast<int>(ranges[b].depth), b);
  });
  return order;
}

}  // namespace ridgeline::import
