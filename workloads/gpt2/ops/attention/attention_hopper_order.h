// attention_hopper_order.h: which tile a multiprocessor is at, forward and backward, in which order the parts of dQ are
// added, and the rings and flags by which the backward kernel's warps keep in step. For host and device, so that tests
// can walk all multiprocessors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2::hopper {

struct Problem {
  int batch;
  int seq;
  int heads;
  int blocks;        // of kTile positions in a sequence
  float scale_log2;  // of a score, into the exponent of 2
};

/// Row statistics [head][chunk][192]: 64 log-sums in units of log2, +inf beyond the sequence, so that there
/// probabilities are 0; and minus dout . out, each pair of rows twice in turn, as the accumulators hold them. How many
/// units of a head have written theirs [head].
/// dQ's sums [group][query block][chunk], in the order of the reducer's registers; how many parts have been added
/// [group][query block][chunk]. A sum's place is taken again in the next round, while it is still in L2: written again
/// before it is evicted, it never goes to memory.
struct BackwardScratch {
  float* statistics;
  float* sums;
  unsigned* parts;
  unsigned* ready;
};

struct BackwardProblem {
  Problem problem;
  int units;   // of a head: pairs of blocks of keys
  int groups;  // of multiprocessors, each at work on one head
  float scale;
  bool in_turn;  // parts of dQ are added in one order
  BackwardScratch scratch;
};

__host__ __device__ constexpr int lesser(int a, int b) {
  return a < b ? a : b;
}
__host__ __device__ constexpr int greater(int a, int b) {
  return a > b ? a : b;
}

/// Forward: which row blocks of the units from first_unit on each block of the grid takes, items[begin[block]] to
/// items[begin[block + 1]]; an item is twice the unit, counted from first_unit, and 1 for its short row block.
struct ForwardTail {
  static constexpr int kMaxBlocks = 160;  // more multiprocessors than any GPU of sm_90 has
  static constexpr int kMaxItems = 4 * kMaxBlocks;
  int first_unit;
  std::uint16_t begin[kMaxBlocks + 1];
  std::uint16_t items[kMaxItems];

  /// Whether the block takes anything: packing may need fewer blocks than there are.
  __host__ __device__ bool has_work(int block) const {
    return first_unit > 0 || begin[block] != begin[block + 1];
  }
};

/// Forward: a unit is a pair of row blocks, a long one and a short one. Of each the tile on the diagonal first, then to
/// the left. Units before the tail are dealt in turn.
struct ForwardCursor {
  int unit;
  int row_block;
  int column_block;
  int pairs;
  int item;  // of the tail, the next
  int items_end;

  __host__ __device__ ForwardCursor(const Problem& problem, const ForwardTail& tail, int block)
      : unit(block),
        pairs((problem.blocks + 1) / 2),
        item(tail.begin[lesser(block, ForwardTail::kMaxBlocks - 1)]),
        items_end(tail.begin[lesser(block, ForwardTail::kMaxBlocks - 1) + 1]) {
    begin_unit(problem, tail);
  }
  __host__ __device__ void begin_unit(const Problem& problem, const ForwardTail& tail) {
    bool is_long = true;
    if (unit >= tail.first_unit) {
      if (item == items_end) {
        unit = problem.batch * problem.heads * pairs;
      } else {
        const int code = tail.items[item++];
        unit = tail.first_unit + code / 2;
        is_long = code % 2 == 0;
      }
    }
    const int shorter = unit % pairs;
    row_block = column_block = is_long ? problem.blocks - 1 - shorter : shorter;
  }
  __host__ __device__ bool valid(const Problem& problem) const {
    return unit < problem.batch * problem.heads * pairs;
  }
  __host__ __device__ bool on_diagonal() const { return column_block == row_block; }
  /// grid: blocks of the launch.
  __host__ __device__ void advance(const Problem& problem, const ForwardTail& tail, int grid) {
    if (column_block > 0) {
      --column_block;
      return;
    }
    if (unit < tail.first_unit) {
      const int shorter = unit % pairs;
      if (row_block > shorter) {
        row_block = column_block = shorter;
        return;
      }
      unit += grid;
    }
    begin_unit(problem, tail);
  }
  __host__ __device__ int batch(const Problem& problem) const { return unit / pairs / problem.heads; }
  __host__ __device__ int head(const Problem& problem) const { return unit / pairs % problem.heads; }
};

constexpr int kChunksPerTile = 2;  // backward: halves of a tile's queries

/// Backward: how many places the rings in shared memory have.
struct BackwardRings {
  static constexpr unsigned kKeyBuffers = 2;
  static constexpr unsigned kStages = 4;   // of queries with dout and their row statistics
  static constexpr unsigned kSlots = 2;    // of dS
  static constexpr unsigned kDqSlots = 2;  // one for each chunk of a tile
  static constexpr unsigned kFlags = 8;    // by when a word comes to be written again, all have read it
};

/// What the warpgroups have to know of a chunk, so that the warp that fetches it is the only one that counts tiles.
enum ChunkFlags : unsigned {
  kFirstOfKeys = 1,
  kLastOfKeys = 2,
  kLastOfAll = 4,
  kDiagonal = 8,       // its tile is on the diagonal
  kDiagonalNext = 16,  // the next chunk is the first of a tile on the diagonal
  kSumFirst = 32,      // no part of dQ comes before this one
  kSumLast = 64,       // none follows
};

/// The parity of the phase in which the count-th filling of a ring's place is there; the one before it is that of the
/// place being empty.
template <unsigned kPlaces>
__host__ __device__ constexpr std::uint32_t filled(unsigned count) {
  return count / kPlaces % 2;
}
template <unsigned kPlaces>
__host__ __device__ constexpr std::uint32_t emptied(unsigned count) {
  return filled<kPlaces>(count) ^ 1U;
}

/// Backward: a unit's long block of keys first, query blocks downwards from the diagonal, then the
/// short one, upwards to the diagonal.
struct BackwardCursor {
  int head;  // counted through the batch
  int pair;
  int key_block;
  int query_block;
  int time = 0;
  int round = 0;  // of the group
  bool is_long = true;

  __host__ __device__ BackwardCursor(const BackwardProblem& p, int block)
      : head(block / p.units), pair(block % p.units) {
    key_block = query_block = pair;
  }
  __host__ __device__ bool valid(const BackwardProblem& p) const {
    return head < p.problem.batch * p.problem.heads;
  }
  __host__ __device__ bool on_diagonal() const { return key_block == query_block; }
  __host__ __device__ bool first_of_keys(const BackwardProblem& p) const {
    return is_long ? query_block == key_block : query_block == p.problem.blocks - 1;
  }
  __host__ __device__ bool last_of_keys(const BackwardProblem& p) const {
    return is_long ? query_block == p.problem.blocks - 1 : query_block == key_block;
  }
  __host__ __device__ void advance(const BackwardProblem& p) {
    if (!last_of_keys(p)) {
      query_block += is_long ? 1 : -1;
      ++time;
      return;
    }
    const int other = p.problem.blocks - 1 - pair;
    if (is_long && other > pair) {
      is_long = false;
      key_block = other;
      query_block = p.problem.blocks - 1;
      ++time;
      return;
    }
    head += p.groups;
    ++round;
    is_long = true;
    time = 0;
    key_block = query_block = pair;
  }
  __host__ __device__ int batch(const BackwardProblem& p) const { return head / p.problem.heads; }
  __host__ __device__ int head_of_batch(const BackwardProblem& p) const { return head % p.problem.heads; }

  /// How many parts of this query block's dQ come before this one: of long blocks of keys, unit u at time
  /// query_block - u; of short ones, unit u at 2 * blocks - 1 - u - query_block; at the same time the long
  /// one first.
  __host__ __device__ int parts_before(const BackwardProblem& p) const {
    const int blocks = p.problem.blocks;
    const int longs = lesser(query_block, p.units - 1);  // the first unit in time
    if (is_long) {
      const int shorts_start = greater(blocks - 1 - query_block, 2 * blocks - query_block - time);
      return longs - pair + greater(0, blocks / 2 - shorts_start);
    }
    return longs - greater(0, query_block - time) + 1 + (blocks / 2 - 1 - pair);
  }
};

}  // namespace ridgeline::gpt2::hopper
