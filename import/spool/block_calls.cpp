#include "spool/block_calls.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "spool/spool_events.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

constexpr std::size_t kMaxBlockCalls = 100'000;

struct NumberedCall {
  std::uint32_t correlation_id = 0;
  HostCall call;
};

struct Block {
  StepBlock of;
  std::vector<NumberedCall> launches, copies, waits;
  std::vector<HostCall> events;
  std::optional<NumberedCall> next;
};

template <typename Work>  // whatever has a stream
std::uint64_t stream_number(const Work& work) {
  return (std::uint64_t{work.context_id} << 32) | work.stream_id;
}

template <typename Work>  // an Execution or a Copy
void note_work(const Work& work, HostCall& call) {
  const bool first = call.end_ns == 0;
  call.stream = stream_number(work);
  call.start_ns = first ? work.start_ns : std::min(call.start_ns, work.start_ns);
  call.end_ns = std::max(call.end_ns, work.end_ns);
}

class BlockReader {
 public:
  explicit BlockReader(const std::vector<StepBlock>& blocks) {
    for (const StepBlock& block : blocks)
      if (!block.alone && block.steps > 0)
        blocks_.push_back(
            {.of = block, .launches = {}, .copies = {}, .waits = {}, .events = {}, .next = std::nullopt});
    std::stable_sort(blocks_.begin(), blocks_.end(),
                     [](const Block& a, const Block& b) { return a.of.first_step < b.of.first_step; });
  }

  void add(const Call& call) {
    Block* const block = block_with(call.step);
    if (block == nullptr || !has_time(call.enter_ns.value_or(0), call.exit_ns.value_or(0))) return;
    if (block->launches.empty() && count_ >= kMaxBlockCalls) return;
    const NumberedCall launch{call.correlation_id, {.enter_ns = *call.enter_ns, .exit_ns = *call.exit_ns}};
    if (call.step < block->of.first_step + block->of.steps) {
      block->launches.push_back(launch);
      ++count_;
    } else if (!block->next || launch.call.enter_ns < block->next->call.enter_ns) {
      block->next = launch;
    }
  }

  // Between the calls and the rest.
  void number() {
    for (Block& block : blocks_) {
      std::stable_sort(block.launches.begin(), block.launches.end(), by_correlation);
      for (NumberedCall& launch : block.launches) by_id_[launch.correlation_id] = &launch.call;
      if (block.next) by_id_[block.next->correlation_id] = &block.next->call;
    }
  }

  void add(const Execution& kernel) {
    const auto call = by_id_.find(kernel.correlation_id);
    if (call != by_id_.end() && has_time(kernel.start_ns, kernel.end_ns)) note_work(kernel, *call->second);
  }

  void add(const Copy& copy) {
    if (!has_time(copy.start_ns, copy.end_ns) || copy.graph_node) return;
    for (Block& block : blocks_) {
      if (block.launches.empty() || copy.correlation_id < block.launches.front().correlation_id ||
          copy.correlation_id > block.launches.back().correlation_id)
        continue;
      NumberedCall call{copy.correlation_id, {}};
      const auto after = std::upper_bound(block.launches.begin(), block.launches.end(), call, by_correlation);
      call.call.enter_ns = call.call.exit_ns = std::prev(after)->call.exit_ns;
      note_work(copy, call.call);
      block.copies.push_back(call);
      return;
    }
  }

  void add(const Wait& wait) {
    if (!has_time(wait.enter_ns, wait.exit_ns)) return;
    const auto kind =
        wait.call == SynchronisationCall::device ? HostCall::Kind::wait_for_all : HostCall::Kind::wait;
    if (Block* const block = block_at(wait.enter_ns))
      block->waits.push_back(
          {wait.correlation_id, {.kind = kind, .enter_ns = wait.enter_ns, .exit_ns = wait.exit_ns}});
  }

  void add(const StreamCallRecord& call) {
    if (call.call != StreamCall::event_record && call.call != StreamCall::event_wait) return;
    const auto kind =
        call.call == StreamCall::event_record ? HostCall::Kind::event_record : HostCall::Kind::event_wait;
    if (Block* const block = block_at(call.time_ns))
      block->events.push_back({.kind = kind,
                               .enter_ns = call.time_ns,
                               .exit_ns = call.time_ns,
                               .stream = stream_number(call),
                               .event = call.event});
  }

  std::vector<BlockCalls> take() {
    std::vector<BlockCalls> all;
    for (Block& block : blocks_) {
      if (block.launches.empty()) continue;
      BlockCalls calls{
          .first_step = block.of.first_step, .steps = block.of.steps, .calls = {}, .next = std::nullopt};
      join_waits(block);
      for (const NumberedCall& launch : block.launches) calls.calls.push_back(launch.call);
      for (const NumberedCall& copy : block.copies) calls.calls.push_back(copy.call);
      for (const NumberedCall& wait : block.waits) calls.calls.push_back(wait.call);
      calls.calls.insert(calls.calls.end(), block.events.begin(), block.events.end());
      std::stable_sort(calls.calls.begin(), calls.calls.end(), by_enter);
      if (block.next && block.next->call.end_ns > 0) calls.next = block.next->call;
      all.push_back(std::move(calls));
    }
    return all;
  }

 private:
  static bool by_correlation(const NumberedCall& a, const NumberedCall& b) {
    return a.correlation_id < b.correlation_id;
  }
  static bool by_enter(const HostCall& a, const HostCall& b) { return a.enter_ns < b.enter_ns; }

  Block* block_at(std::int64_t time_ns) {
    for (Block& block : blocks_)
      if (time_ns >= block.of.start_ns && time_ns <= block.of.end_ns) return &block;
    return nullptr;
  }

  // The step is one of the block or the one behind it.
  Block* block_with(std::uint32_t step) {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), step,
                         [](std::uint32_t at, const Block& b) { return at < b.of.first_step; });
    if (after == blocks_.begin()) return nullptr;
    Block& block = *std::prev(after);
    return step <= block.of.first_step + block.of.steps ? &block : nullptr;
  }

  // A copy that waits has one record of the device's and one of the call.
  static void join_waits(Block& block) {
    std::unordered_map<std::uint32_t, std::int64_t> called_ns;
    for (const auto& [id, wait] : block.waits) called_ns[id] = wait.enter_ns;
    for (NumberedCall& copy : block.copies)
      if (const auto found = called_ns.find(copy.correlation_id); found != called_ns.end())
        copy.call.enter_ns = copy.call.exit_ns = found->second;
  }

  std::vector<Block> blocks_;  // by first step
  std::unordered_map<std::uint32_t, HostCall*> by_id_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<BlockCalls> calls_of_blocks(const Reader& reader, const std::vector<StepBlock>& blocks) {
  BlockReader calls(blocks);
  visit_records(reader, {RecordType::launch}, {}, [&](const RecordView& view) {
    if (const auto* call = view.as<LaunchRecord>()) calls.add(call_of(*call));
  });
  calls.number();
  constexpr RecordTypes kRest = {RecordType::kernel, RecordType::memcpy, RecordType::memset,
                                 RecordType::synchronisation, RecordType::stream_call};
  visit_records(reader, kRest, {}, [&](const RecordView& view) {
    if (const auto* kernel = view.as<KernelRecord>())
      calls.add(execution_of(*kernel));
    else if (const auto* copy = view.as<MemcpyRecord>())
      calls.add(copy_of(*copy));
    else if (const auto* set = view.as<MemsetRecord>())
      calls.add(copy_of(*set));
    else if (const auto* wait = view.as<SynchronisationRecord>())
      calls.add(wait_of(*wait));
    else if (const auto* call = view.as<StreamCallRecord>())
      calls.add(*call);
  });
  return calls.take();
}

}  // namespace ridgeline::import
