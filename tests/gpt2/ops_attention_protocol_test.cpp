// Who waits for whom in the Hopper attention's backward kernel, as a model: its warps are coroutines, its barriers
// count as mbarriers do, and its copies arrive at once. The walk of the tiles, the rings' lengths, the flags and the
// parities are the kernel's; the order of waits and arrivals is written down again (consume, reduce_dq, fetch, add_up
// and write_statistics beside attention_hopper_backward.cu), and changes with the kernel's.
// Run in any order, and with any warp slow, all must come to their end, and each must find in a place what was put
// there for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <coroutine>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpt2/ops/attention/attention_hopper_order.h"

namespace ridgeline::gpt2::hopper {
namespace {

using Condition = std::function<bool()>;

// What one warp, or warps that go together, do; stopped at a condition.
class Role {
 public:
  struct promise_type {
    Condition until = [] { return true; };
    Role get_return_object() { return Role(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(Condition condition) {
      until = std::move(condition);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Role(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Role(Role&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
  Role& operator=(Role&&) = delete;
  ~Role() {
    if (handle_) handle_.destroy();
  }
  bool ended() const { return handle_.done(); }
  /// Whether it went on.
  bool step() {
    if (ended() || !handle_.promise().until()) return false;
    handle_.resume();
    return true;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

struct Barrier {
  unsigned arrivals = 1;
  unsigned pending = 1;
  unsigned phases = 0;

  void init(unsigned count) { arrivals = pending = count; }
  void arrive() {
    if (--pending > 0) return;
    pending = arrivals;
    ++phases;
  }
  Condition over(std::uint32_t parity) const {
    return [this, parity] { return phases % 2 != parity; };
  }
};

// What all multiprocessors see.
struct Memory {
  std::map<int, int> ready;                             // by head: units whose row statistics are there
  std::map<std::tuple<int, int, int>, unsigned> added;  // by group, query block and chunk
  int parts = 0;
};

constexpr unsigned kNothing = ~0U;

constexpr int kRoles = 7;

class Multiprocessor {
  using Rings = BackwardRings;

 public:
  Multiprocessor(const BackwardProblem& p, int block, Memory& memory)
      : p_(p), block_(block), memory_(memory) {
    for (Barrier& barrier : keys_empty_) barrier.init(2);
    for (Barrier& barrier : rows_empty_) barrier.init(2);
    for (Barrier& barrier : ds_full_) barrier.init(2);
    rows_.fill(kNothing);
    keys_.fill(kNothing);
    flags_.fill({kNothing, 0});
    for (auto& halves : ds_) halves.fill(kNothing);
    dq_.fill({Dq::free, 0});
  }
  std::vector<Role> roles() {
    std::vector<Role> all;
    all.push_back(fetch());
    for (const unsigned consumer : {0U, 1U}) all.push_back(consume(consumer));
    all.push_back(reduce_dq());
    for (const unsigned of_tile : {0U, 1U}) all.push_back(add_up(of_tile));
    all.push_back(statistics());
    return all;
  }

 private:
  enum class Dq { free, part, sum };

  Role fetch() {
    unsigned chunk = 0;
    unsigned block = 0;
    for (BackwardCursor at(p_, block_); at.valid(p_);) {
      const int before = at.parts_before(p_);
      unsigned flags = (before == 0 ? kSumFirst : 0U) | (before == at.query_block ? kSumLast : 0U) |
                       (at.on_diagonal() ? kDiagonal : 0U);
      if (at.first_of_keys(p_)) {
        flags |= kFirstOfKeys;
        const unsigned place = block % Rings::kKeyBuffers;
        co_yield keys_empty_[place].over(emptied<Rings::kKeyBuffers>(block));
        keys_[place] = block++;
        keys_full_[place].arrive();
        if (at.is_long) {
          const int head = at.head;
          co_yield [this, head] { return memory_.ready[head] == p_.units; };
          round_begun_.arrive();
        }
      }
      const bool last_of_keys = at.last_of_keys(p_);
      at.advance(p_);
      for (int of_tile = 0; of_tile < kChunksPerTile; ++of_tile, ++chunk) {
        if (of_tile == kChunksPerTile - 1) {
          flags = (flags & ~kFirstOfKeys) | (last_of_keys ? kLastOfKeys : 0U) |
                  (at.valid(p_) ? 0U : kLastOfAll) | (at.on_diagonal() ? kDiagonalNext : 0U);
        }
        co_yield rows_empty_[chunk % Rings::kStages].over(emptied<Rings::kStages>(chunk));
        rows_[chunk % Rings::kStages] = chunk;
        flags_[chunk % Rings::kFlags] = {chunk, flags};
        rows_full_[chunk % Rings::kStages].arrive();
      }
    }
  }

  unsigned flags_of(unsigned chunk) const {
    EXPECT_EQ(flags_[chunk % Rings::kFlags].first, chunk) << "flags written over";
    return flags_[chunk % Rings::kFlags].second;
  }
  void expect_rows(unsigned chunk) const {
    EXPECT_EQ(rows_[chunk % Rings::kStages], chunk) << "rows not there";
  }
  void expect_keys(unsigned block) const {
    EXPECT_EQ(keys_[block % Rings::kKeyBuffers], block) << "keys not there";
  }

  Role consume(unsigned consumer) {
    unsigned chunk = 0;
    unsigned block = 0;
    unsigned flags = 0;
    unsigned chunk_before = kNothing;
    unsigned flags_before = kFirstOfKeys;
    bool first_of_keys = true;
    bool on_diagonal = true;
    for (bool more = true;;) {
      // await_rows
      if (more) {
        co_yield rows_full_[chunk % Rings::kStages].over(filled<Rings::kStages>(chunk));
        if (consumer == 1 && on_diagonal) {
          EXPECT_TRUE((flags_of(chunk) & kDiagonal) != 0 && chunk % kChunksPerTile == 0) << "passed over";
          co_yield ds_empty_[chunk % Rings::kSlots].over(emptied<Rings::kSlots>(chunk));
          ds_[chunk % Rings::kSlots][consumer] = chunk;
          rows_empty_[chunk % Rings::kStages].arrive();
          ds_full_[chunk % Rings::kSlots].arrive();
          ++chunk;
          co_yield rows_full_[chunk % Rings::kStages].over(filled<Rings::kStages>(chunk));
        }
        if (first_of_keys)
          co_yield keys_full_[block % Rings::kKeyBuffers].over(filled<Rings::kKeyBuffers>(block));
        flags = flags_of(chunk);
        EXPECT_TRUE(consumer == 0 || (flags & kDiagonal) == 0 || chunk % kChunksPerTile == 1)
            << "not passed over";
        expect_rows(chunk);
        expect_keys(block);
      }
      if (chunk_before != kNothing) {
        // dS of the chunk before, which is now no longer the newest: its dV and this one's scores are under way.
        co_yield ds_empty_[chunk_before % Rings::kSlots].over(emptied<Rings::kSlots>(chunk_before));
        ds_[chunk_before % Rings::kSlots][consumer] = chunk_before;
        ds_full_[chunk_before % Rings::kSlots].arrive();
        expect_rows(chunk_before);
      }
      const bool stored = (flags_before & kLastOfKeys) != 0;
      if (stored) {
        co_yield keys_taken_[(block - 1) % Rings::kKeyBuffers].over(filled<Rings::kKeyBuffers>(block - 1));
        expect_keys(block - 1);
      }
      if (!more) co_return;
      co_yield [] { return true; };  // exponentials; then dK of the chunk before is done
      expect_rows(chunk);
      if (chunk_before != kNothing) {
        expect_rows(chunk_before);
        rows_empty_[chunk_before % Rings::kStages].arrive();
      }
      if (stored) keys_empty_[(block - 1) % Rings::kKeyBuffers].arrive();
      chunk_before = chunk;
      flags_before = flags;
      more = (flags & kLastOfAll) == 0;
      first_of_keys = (flags & kLastOfKeys) != 0;
      on_diagonal = (flags & kDiagonalNext) != 0;
      ++chunk;
      if (first_of_keys) ++block;
    }
  }

  Role reduce_dq() {
    unsigned block = 0;
    unsigned before = 0;
    bool taken = true;
    unsigned flags = 0;
    for (unsigned chunk = 0; (flags & kLastOfAll) == 0; ++chunk) {
      const unsigned slot = chunk % Rings::kSlots;
      co_yield ds_full_[slot].over(filled<Rings::kSlots>(chunk));
      flags = flags_of(chunk);
      if ((flags & kFirstOfKeys) != 0) {
        co_yield keys_full_[block % Rings::kKeyBuffers].over(filled<Rings::kKeyBuffers>(block));
        expect_keys(block);
        ++block;
        taken = false;
      }
      co_yield [] { return true; };
      EXPECT_EQ(ds_[slot][0], chunk);
      EXPECT_EQ(ds_[slot][1], chunk);
      ds_empty_[slot].arrive();
      const bool half = (flags & kDiagonal) != 0 && chunk % kChunksPerTile == 0;
      if (!taken && !half) {
        expect_keys(block - 1);
        keys_taken_[(block - 1) % Rings::kKeyBuffers].arrive();
        taken = true;
      }
      co_yield dq_empty_[slot].over(emptied<Rings::kSlots>(chunk));
      const bool add_before = (flags & (kSumFirst | kSumLast)) == kSumLast;
      if (add_before) co_yield dq_before_[slot].over(before % 2);
      EXPECT_EQ(dq_[slot].first, add_before ? Dq::sum : Dq::free) << "dQ written over";
      dq_[slot] = {Dq::part, chunk / kChunksPerTile};
      dq_full_[slot].arrive();
      if (add_before && chunk % kChunksPerTile == 1) ++before;
    }
  }

  // Which sum of dQ a chunk is a part of, as the kernel's DqueriesPart.
  struct Part {
    int before;
    int query_block;
    bool first;
    bool last;
    bool in_turn;
    unsigned begin;
    unsigned* added;

    bool may_follow() const {
      const auto done = static_cast<int>(*added - begin);
      return in_turn ? done == before : done > 0;
    }
    void expect_sum_before_complete() const {
      EXPECT_LE(*added - begin, static_cast<unsigned>(query_block)) << "the sum before is not complete";
    }
  };
  Part part_of(const BackwardCursor& at, unsigned of_tile) {
    Part part{};
    part.before = at.parts_before(p_);
    part.query_block = at.query_block;
    part.first = part.before == 0;
    part.last = part.before == at.query_block;
    part.in_turn = part.first || part.last || p_.in_turn;
    part.begin = static_cast<unsigned>(at.round * (at.query_block + 1));
    part.added = &memory_.added[{block_ / p_.units, at.query_block, static_cast<int>(of_tile)}];
    return part;
  }

  Role add_up(unsigned of_tile) {
    unsigned tile = 0;
    for (BackwardCursor at(p_, block_); at.valid(p_); at.advance(p_), ++tile) {
      const Part part = part_of(at, of_tile);
      co_yield [part] { return part.may_follow(); };
      part.expect_sum_before_complete();
      if (part.last && !part.first) {
        EXPECT_EQ(dq_[of_tile].first, Dq::free);
        dq_[of_tile] = {Dq::sum, tile};
        dq_before_[of_tile].arrive();
      }
      co_yield dq_full_[of_tile].over(tile % 2);
      EXPECT_TRUE(dq_[of_tile] == std::make_pair(Dq::part, tile));
      co_yield [] { return true; };
      dq_[of_tile].first = Dq::free;
      dq_empty_[of_tile].arrive();
      co_yield [] { return true; };
      ++*part.added;
      ++memory_.parts;
    }
  }

  Role statistics() {
    unsigned round = 0;
    for (int head = block_ / p_.units; head < p_.problem.batch * p_.problem.heads;
         head += p_.groups, ++round) {
      if (round > 0) co_yield round_begun_.over((round - 1) % 2);
      co_yield [] { return true; };
      ++memory_.ready[head];
    }
  }

  const BackwardProblem& p_;
  int block_;
  Memory& memory_;
  std::array<Barrier, Rings::kKeyBuffers> keys_full_, keys_taken_, keys_empty_;
  std::array<Barrier, Rings::kStages> rows_full_, rows_empty_;
  std::array<Barrier, Rings::kSlots> ds_full_, ds_empty_;
  std::array<Barrier, Rings::kDqSlots> dq_full_, dq_empty_, dq_before_;
  Barrier round_begun_;
  // What lies in each place.
  std::array<unsigned, Rings::kStages> rows_{};
  std::array<unsigned, Rings::kKeyBuffers> keys_{};
  std::array<std::pair<unsigned, unsigned>, Rings::kFlags> flags_{};
  std::array<std::array<unsigned, 2>, Rings::kSlots> ds_{};
  std::array<std::pair<Dq, unsigned>, Rings::kDqSlots> dq_{};
};

struct Case {
  int blocks;
  int heads;
  int groups;
  bool in_turn;
};

// Whether all came to their end. A role that is slow everywhere, or nowhere (-1), goes on only when no other can.
bool ends(const Case& c, int slow, unsigned seed) {
  BackwardProblem p{};
  p.problem = {1, c.blocks * 128, c.heads, c.blocks, 0.0F};
  p.units = (c.blocks + 1) / 2;
  p.groups = std::min(c.groups, c.heads);
  p.in_turn = c.in_turn;
  Memory memory;
  std::vector<std::unique_ptr<Multiprocessor>> multiprocessors;
  std::vector<Role> roles;
  for (int block = 0; block < p.groups * p.units; ++block) {
    multiprocessors.push_back(std::make_unique<Multiprocessor>(p, block, memory));
    for (Role& role : multiprocessors.back()->roles()) roles.push_back(std::move(role));
  }
  std::mt19937 random(seed);
  std::vector<std::size_t> order(roles.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (bool moved = true; moved;) {
    moved = false;
    std::shuffle(order.begin(), order.end(), random);
    for (const bool slow_ones : {false, true}) {
      if (slow_ones && moved) break;
      for (const std::size_t i : order) {
        if ((static_cast<int>(i) % kRoles == slow) == slow_ones) moved = roles[i].step() || moved;
      }
    }
  }
  EXPECT_EQ(memory.parts, kChunksPerTile * c.heads * c.blocks * (c.blocks + 1) / 2);
  return std::all_of(roles.begin(), roles.end(), [](const Role& role) { return role.ended(); });
}

TEST(HopperAttentionProtocol, EverybodyComesToItsEnd) {
  for (int blocks = 1; blocks <= 9; ++blocks) {
    for (const auto& [heads, groups] : {std::pair{1, 1}, std::pair{7, 2}, std::pair{5, 1}}) {
      for (const bool in_turn : {false, true}) {
        for (int slow = -1; slow < kRoles; ++slow) {
          const Case c{blocks, heads, groups, in_turn};
          ASSERT_TRUE(ends(c, slow, static_cast<unsigned>(blocks + slow + 2)))
              << blocks << " blocks, " << heads << " heads, " << groups << " groups, slow " << slow
              << (in_turn ? ", in turn" : "") << ": they wait for one another";
          ASSERT_FALSE(testing::Test::HasFailure()) << blocks << " blocks, slow " << slow;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::gpt2::hopper
