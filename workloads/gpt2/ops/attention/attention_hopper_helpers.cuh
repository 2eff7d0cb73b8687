// attention_hopper_helpers.cuh: the warps of the backward kernel that compute no products: one fetches what the
// others need, two add dQ up in memory, one forms the row statistics, a head ahead. For
// attention_hopper_backward.cu alone, whose header comment says how.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpt2/ops/attention/attention_hopper_backward.cuh"
#include "gpt2/ops/attention/attention_hopper_backward_fp8.cuh"

namespace ridgeline::gpt2::hopper {

__device__ inline unsigned load_acquire(const unsigned* address) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ inline void add_release(unsigned* address, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// Rows of a head whose statistics a unit forms: those of two query blocks, in pieces.
struct StatisticsCursor {
  int begin;
  int end;
  int head;  // counted through the batch
  int row;

  __device__ explicit StatisticsCursor(const BackwardProblem& p)
      : begin(2 * (static_cast<int>(blockIdx.x) % p.units) * kTile),
        end(lesser(begin + 2 * kTile, p.problem.blocks * kTile)),
        head(static_cast<int>(blockIdx.x) / p.units),
        row(begin) {}
  __device__ bool valid(const BackwardProblem& p) const { return head < p.problem.batch * p.problem.heads; }
  __device__ void advance(const BackwardProblem& p) {
    row += BackwardLayout::kPiece;
    if (row < end) return;
    row = begin;
    head += p.groups;
  }
};

/// One warp forms the statistics of a piece's rows, a lane each.
__device__ inline void form_statistics(const BackwardProblem& p, int head, int first_row, float log_sum,
                                       std::uint32_t rows, int lane) {
  using Layout = BackwardLayout;
  static_assert(Layout::kPiece == 32, "a row for each lane");
  const std::uint32_t row = rows + static_cast<std::uint32_t>(lane) * 128;
  float dot = 0.0F;
#pragma unroll 2  // a short loop: see consume
  for (int i = 0; i < kPanel / 8; ++i) {
    const std::uint32_t address = row + static_cast<std::uint32_t>((i ^ (lane & 7)) << 4);
    const uint4 a = load_shared_128(address);
    const uint4 b = load_shared_128(address + Layout::kPieceBytes);
    dot = dot_bf16(a.x, b.x, dot);
    dot = dot_bf16(a.y, b.y, dot);
    dot = dot_bf16(a.z, b.z, dot);
    dot = dot_bf16(a.w, b.w, dot);
  }
  float* const chunk =
      p.scratch.statistics +
      (static_cast<std::int64_t>(head) * p.problem.blocks * kChunksPerTile + first_row / kChunk) *
          kStatisticsFloats;
  const int of_chunk = (first_row + lane) % kChunk;
  float* const dots = chunk + kChunk + of_chunk / 2 * 4 + of_chunk % 2;
  chunk[of_chunk] = log_sum;
  dots[0] = dots[2] = -dot;
}

/// One warp: minus dout . out and the log-sum of the rows of this unit's share of each head. A head is begun when the
/// chunks of the one before it are being fetched. For the first one all others wait.
__device__ inline void write_statistics(const BackwardMaps& maps, const BackwardProblem& p,
                                        const BackwardLayout& layout, const float* lse, int lane) {
  using Layout = BackwardLayout;
  StatisticsCursor fetched(p);
  unsigned pieces_fetched = 0;
  int head_of_batch = 0;
  int batch = 0;
  const auto find_head = [&] {
    batch = fetched.head / p.problem.heads;
    head_of_batch = fetched.head % p.problem.heads;
  };
  const auto load_piece = [&](std::uint32_t full, std::uint32_t to) {
    find_head();
    tma_load_heads(to, &maps.dout_rows, full, 0, head_of_batch, fetched.row, batch);
    tma_load_heads(to + Layout::kPieceBytes, &maps.out_rows, full, 0, head_of_batch, fetched.row, batch);
  };
  const auto fetch_piece = [&] {
    if (lane == 0 && fetched.valid(p)) {
      const std::uint32_t full = layout.piece_full(pieces_fetched);
      const std::uint32_t to = layout.piece(pieces_fetched);
      barrier_arrive_expect(full, 2 * Layout::kPieceBytes);
      load_piece(full, to);
    }
    fetched.advance(p);
    ++pieces_fetched;
  };

  unsigned round = 0;
  unsigned piece = 0;
  for (StatisticsCursor at(p); at.valid(p); ++piece) {
    const int t = at.row + lane;
    if (at.row == at.begin) {
      if (round > 0) barrier_wait(layout.round_begun(), (round - 1) % 2);
      ++round;
      // Up to the end of the head: the next one's turn has not come.
#pragma unroll
      for (unsigned i = 0; i < Layout::kPieces; ++i) fetch_piece();
    }
    float log_sum = INFINITY;
    if (t < p.problem.seq) log_sum = lse[static_cast<std::int64_t>(at.head) * p.problem.seq + t] * kLog2e;
    const std::uint32_t rows = layout.piece(piece);
    barrier_wait(layout.piece_full(piece), filled<Layout::kPieces>(piece));
    form_statistics(p, at.head, at.row, log_sum, rows, lane);
    __syncwarp();
    const int head = at.head;
    at.advance(p);
    if (at.row == at.begin) {
      if (lane == 0) {
        __threadfence();
        add_release(p.scratch.ready + head, 1);
      }
    } else if (fetched.head == head) {
      fetch_piece();
    }
  }
}

/// One thread: keys and values, and chunks of rows, in the order of use.
__device__ inline void fetch(const BackwardMaps& maps, const BackwardProblem& p,
                             const BackwardLayout& layout) {
  using Layout = BackwardLayout;
  const auto load = [](std::uint32_t to, const CUtensorMap& map, std::uint32_t full, int head, int position,
                       int batch) { tma_load_heads(to, &map, full, 0, head, position, batch); };
  unsigned chunk = 0;
  unsigned block = 0;
  const auto load_keys = [&](int head, int first_key, int batch) {
    const std::uint32_t full = layout.keys_full(block);
    barrier_wait(layout.keys_empty(block), emptied<Layout::kKeyBuffers>(block));
    store_shared_128(layout.which_keys(block),
                     make_uint4(static_cast<unsigned>(head), static_cast<unsigned>(batch),
                                static_cast<unsigned>(first_key), 0));
    barrier_arrive_expect(full, 2 * Layout::kTileBytes);
    load(layout.keys(block), maps.keys, full, p.problem.heads + head, first_key, batch);
    load(layout.values(block), maps.keys, full, 2 * p.problem.heads + head, first_key, batch);
    ++block;
  };
  for (BackwardCursor at(p, static_cast<int>(blockIdx.x)); at.valid(p);) {
    const int batch = at.batch(p);
    const int head = at.head_of_batch(p);
    const int before = at.parts_before(p);
    unsigned flags = (before == 0 ? kSumFirst : 0U) | (before == at.query_block ? kSumLast : 0U) |
                     (at.on_diagonal() ? kDiagonal : 0U);
    const int first_key = at.key_block * kTile;
    const bool first_of_keys = at.first_of_keys(p);
    if (first_of_keys) {
      flags |= kFirstOfKeys;
      load_keys(head, first_key, batch);
      if (at.is_long) {
        while (load_acquire(p.scratch.ready + at.head) != static_cast<unsigned>(p.units)) {
        }
        fence_copies_in_memory();
        barrier_arrive(layout.round_begun());
      }
    }
    const bool last_of_keys = at.last_of_keys(p);
    const int first_chunk = at.query_block * kChunksPerTile;
    const float* const statistics =
        p.scratch.statistics +
        (static_cast<std::int64_t>(at.head) * p.problem.blocks * kChunksPerTile + first_chunk) *
            kStatisticsFloats;
    at.advance(p);
    for (int of_tile = 0; of_tile < kChunksPerTile; ++of_tile, ++chunk) {
      if (of_tile == kChunksPerTile - 1) {
        flags = (flags & ~kFirstOfKeys) | (last_of_keys ? kLastOfKeys : 0U) |
                (at.valid(p) ? 0U : kLastOfAll) | (at.on_diagonal() ? kDiagonalNext : 0U);
      }
      const std::uint32_t full = layout.rows_full(chunk);
      const int position = (first_chunk + of_tile) * kChunk;
      barrier_wait(layout.rows_empty(chunk), emptied<Layout::kStages>(chunk));
      store_shared(layout.flags(chunk), flags);
      barrier_arrive_expect(full, 2 * Layout::kChunkBytes + kStatisticsBytes);
      load(layout.queries(chunk), maps.queries, full, head, position, batch);
      load(layout.dout(chunk), maps.dout, full, head, position, batch);
      bulk_load(layout.statistics(chunk), statistics + of_tile * kStatisticsFloats, kStatisticsBytes, full);
    }
  }
}

/// One thread for each chunk of a tile: adds the reducer's parts of dQ to the sums in memory, each when it may, and
/// stores the rows that the last part completes.
template <bool kFp8>
__device__ inline void add_up(const BackwardMaps& maps, const BackwardProblem& p,
                              const BackwardLayout& layout, unsigned of_tile) {
  using Layout = BackwardLayout;
  // Loops of one turn, over the panels of a head: unrolled, they leave the kernel the machine code that was tuned.
  constexpr unsigned kPanels = kHeadSize / kPanel;
  unsigned count = 0;  // of what has been in the place before
  for (BackwardCursor at(p, static_cast<int>(blockIdx.x)); at.valid(p); at.advance(p), count += 1) {
    const DqueriesPart part(p, at, of_tile);
    while (!part.may_follow(load_acquire(part.added), p.in_turn)) {
    }
    fence_copies_in_memory();
#pragma unroll
    for (unsigned panel = 0; panel < kPanels; ++panel) {
      if (part.last && !part.first) {
        barrier_arrive_expect(layout.dq_before(of_tile), Layout::kSlotBytes);
        bulk_load(layout.dqueries(of_tile), part.sum + panel * kSlotFloats, Layout::kSlotBytes,
                  layout.dq_before(of_tile));
      }
    }
#pragma unroll
    for (unsigned panel = 0; panel < kPanels; ++panel) {
      const std::uint32_t staging = layout.dqueries(of_tile);
      float* const sum = part.sum + panel * kSlotFloats;
      barrier_wait(layout.dq_full(of_tile), filled<1>(count));
      if (part.last) {
        const int position = at.query_block * kTile + static_cast<int>(of_tile) * kChunk;
        if constexpr (kFp8) {
          store_fp8_gradient(maps, staging, staging + kFp8Bytes, at.head_of_batch(p), position, at.batch(p));
        } else {
          tma_store_heads(&maps.dqueries, staging, static_cast<int>(panel) * kPanel, at.head_of_batch(p),
                          position, at.batch(p));
        }
      } else if (part.first) {
        bulk_store(sum, staging, Layout::kSlotBytes);
      } else {
        bulk_add(sum, staging, Layout::kSlotBytes);
      }
      bulk_commit();
      bulk_wait_read();
      barrier_arrive(layout.dq_empty(of_tile));
    }
    if (!part.last) {
      bulk_wait();
      fence_copies_in_memory();
    }
    // The next round begins its sum in this place; its first part waits for the last of this one.
    add_release(part.added, 1);
  }
}

}  // namespace ridgeline::gpt2::hopper
