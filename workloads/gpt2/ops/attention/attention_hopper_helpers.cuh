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
template <int kPiece>
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
    row += kPiece;
    if (row < end) return;
    row = begin;
    head += p.groups;
  }
};

/// One warp forms the statistics of a piece's rows, each by as many lanes as make a warp of them.
template <int kHeadSize>
__device__ inline void form_statistics(const BackwardProblem& p, int head, int first_row, float log_sum,
                                       std::uint32_t rows, int lane) {
  using Layout = BackwardLayout<kHeadSize>;
  constexpr int kLanes = 32 / Layout::kPiece;  // of a row: a panel each
  static_assert(kLanes == Layout::kPanels, "another division of rows among lanes");
  const int of_lane = lane / kLanes;
  const int panel = lane % kLanes;
  const std::uint32_t row = rows + static_cast<std::uint32_t>(panel) * Layout::kPiecePanelBytes +
                            static_cast<std::uint32_t>(of_lane) * 128;
  float dots_of_lane[kLanes] = {};
#pragma unroll 2  // a short loop: see consume
  for (int i = 0; i < kPanel / 8; ++i) {
    // The two panels half a row apart, so that no two lanes want the same banks.
    const std::uint32_t address = row + static_cast<std::uint32_t>((i ^ (of_lane & 7) ^ (4 * panel)) << 4);
    const uint4 a = load_shared_128(address);
    const uint4 b = load_shared_128(address + Layout::kPieceBytes);
    float& first = dots_of_lane[0];
    float& last = dots_of_lane[kLanes - 1];
    first = dot_bf16(a.x, b.x, first);
    first = dot_bf16(a.y, b.y, first);
    last = dot_bf16(a.z, b.z, last);
    last = dot_bf16(a.w, b.w, last);
  }
  float dot = dots_of_lane[0];
  if (kLanes == 2) {
    dot += dots_of_lane[kLanes - 1];
    dot += __shfl_xor_sync(0xffffffffU, dot, 1);
  }
  float* const chunk =
      p.scratch.statistics +
      (static_cast<std::int64_t>(head) * p.problem.blocks * kChunksPerTile + first_row / kChunk) *
          kStatisticsFloats;
  const int of_chunk = (first_row + of_lane) % kChunk;
  float* const dots = chunk + kChunk + of_chunk / 2 * 4 + of_chunk % 2;
  if (panel == 0) {
    chunk[of_chunk] = log_sum;
    dots[0] = dots[2] = -dot;
  }
}

/// One warp: minus dout . out and the log-sum of the rows of this unit's share of each head. A head is begun when the
/// chunks of the one before it are being fetched. For the first one all others wait: at head size 128, whose pieces are
/// small, it is brought as a whole to where no chunks are yet, and what a piece takes is asked for a piece ahead.
template <int kHeadSize>
__device__ inline void write_statistics(const BackwardMaps& maps, const BackwardProblem& p,
                                        const BackwardLayout<kHeadSize>& layout, const float* lse, int lane) {
  using Layout = BackwardLayout<kHeadSize>;
  constexpr int kPiece = Layout::kPiece;
  constexpr int kLanes = 32 / kPiece;
  constexpr bool kWide = kHeadSize > 64;
  StatisticsCursor<kPiece> fetched(p);
  unsigned pieces_fetched = 0;
  int head_of_batch = 0;
  int batch = 0;
  const auto find_head = [&] {
    batch = fetched.head / p.problem.heads;
    head_of_batch = fetched.head % p.problem.heads;
  };
  const auto load_piece = [&](std::uint32_t full, std::uint32_t to) {
    if (!kWide) find_head();
#pragma unroll
    for (int panel = 0; panel < Layout::kPanels; ++panel) {
      const std::uint32_t at = to + static_cast<std::uint32_t>(panel) * Layout::kPiecePanelBytes;
      tma_load_heads(at, &maps.dout_rows, full, panel * kPanel, head_of_batch, fetched.row, batch);
      tma_load_heads(at + Layout::kPieceBytes, &maps.out_rows, full, panel * kPanel, head_of_batch,
                     fetched.row, batch);
    }
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
  const auto fetch_first = [&] {
    const std::uint32_t full = layout.first_pieces_full();
    if (lane == 0) {
      barrier_arrive_expect(
          full, static_cast<std::uint32_t>((fetched.end - fetched.begin) / kPiece) * 2 * Layout::kPieceBytes);
    }
    const int head = fetched.head;
#pragma unroll 1
    for (unsigned i = 0; fetched.head == head; ++i, fetched.advance(p)) {
      if (lane == 0) load_piece(full, layout.first_piece(i));
    }
  };
  // As it lies in memory; beyond the sequence, anything.
  const auto lse_at = [&](int head, int t) {
    return lse[static_cast<std::int64_t>(head) * p.problem.seq + lesser(t, p.problem.seq - 1)];
  };

  unsigned round = 0;
  unsigned piece = 0;
  bool at_once = kWide;
  float next_lse = 0.0F;
  for (StatisticsCursor<kPiece> at(p); at.valid(p); ++piece) {
    const int t = at.row + lane / kLanes;
    if (at.row == at.begin) {
      if (round > 0) barrier_wait(layout.round_begun(), (round - 1) % 2);
      ++round;
      if (kWide) find_head();
      if (at_once) {
        fetch_first();
      } else {
        // Up to the end of the head: the next one's turn has not come.
#pragma unroll(kWide ? 1 : Layout::kPieces)
        for (unsigned i = 0; i < Layout::kPieces; ++i) fetch_piece();
      }
      if (kWide) next_lse = lse_at(at.head, t);
    }
    float log_sum = INFINITY;
    if constexpr (kWide) {
      if (t < p.problem.seq) log_sum = next_lse * kLog2e;
      next_lse = lse_at(at.head, t + kPiece);
    } else {
      if (t < p.problem.seq) log_sum = lse[static_cast<std::int64_t>(at.head) * p.problem.seq + t] * kLog2e;
    }
    std::uint32_t rows = layout.piece(piece);
    if (at_once) {
      barrier_wait(layout.first_pieces_full(), 0);
      rows = layout.first_piece(piece);
    } else {
      barrier_wait(layout.piece_full(piece), filled<Layout::kPieces>(piece));
    }
    form_statistics<kHeadSize>(p, at.head, at.row, log_sum, rows, kWide ? thread_now() % 32 : lane);
    __syncwarp();
    const int head = at.head;
    at.advance(p);
    if (at.row == at.begin) {
      if (lane == 0) {
        __threadfence();
        add_release(p.scratch.ready + head, 1);
      }
      if (at_once) piece = ~0U;  // the ring begins with the next
      at_once = false;
    } else if (!at_once && fetched.head == head) {
      fetch_piece();
    }
  }
}

/// One thread: keys and values, and chunks of rows, in the order of use. At head size 128 a block's keys and values
/// come behind its first chunk: that has a place already when theirs is given back.
template <int kHeadSize>
__device__ inline void fetch(const BackwardMaps& maps, const BackwardProblem& p,
                             const BackwardLayout<kHeadSize>& layout) {
  using Layout = BackwardLayout<kHeadSize>;
  constexpr bool kApart = kHeadSize > 64;  // values and dout have barriers of their own
  const auto load = [](std::uint32_t to, std::uint32_t panel_bytes, const CUtensorMap& map,
                       std::uint32_t full, int head, int position, int batch) {
#pragma unroll
    for (int panel = 0; panel < Layout::kPanels; ++panel) {
      tma_load_heads(to + static_cast<std::uint32_t>(panel) * panel_bytes, &map, full, panel * kPanel, head,
                     position, batch);
    }
  };
  unsigned chunk = 0;
  unsigned block = 0;
  const auto load_keys = [&](int head, int first_key, int batch) {
    const std::uint32_t full = layout.keys_full(block);
    barrier_wait(layout.keys_empty(block), emptied<Layout::kKeyBuffers>(block));
    store_shared_128(layout.which_keys(block),
                     make_uint4(static_cast<unsigned>(head), static_cast<unsigned>(batch),
                                static_cast<unsigned>(first_key), 0));
    barrier_arrive_expect(full, (kApart ? 1 : 2) * Layout::kTileBytes);
    load(layout.keys(block), kPanelBytes, maps.keys, full, p.problem.heads + head, first_key, batch);
    const std::uint32_t values_full = kApart ? layout.values_full(block) : full;
    if (kApart) {
      barrier_wait(layout.values_empty(block), emptied<Layout::kKeyBuffers>(block));
      barrier_arrive_expect(values_full, Layout::kTileBytes);
    }
    load(layout.values(block), kPanelBytes, maps.keys, values_full, 2 * p.problem.heads + head, first_key,
         batch);
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
      if (!kApart) load_keys(head, first_key, batch);
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
      barrier_arrive_expect(full, (kApart ? 1 : 2) * Layout::kChunkBytes + kStatisticsBytes);
      load(layout.queries(chunk), Layout::kChunkPanelBytes, maps.queries, full, head, position, batch);
      if (!kApart) load(layout.dout(chunk), Layout::kChunkPanelBytes, maps.dout, full, head, position, batch);
      bulk_load(layout.statistics(chunk), statistics + of_tile * kStatisticsFloats, kStatisticsBytes, full);
      if (kApart) {
        const std::uint32_t dout_full = layout.dout_full(chunk);
        barrier_wait(layout.dout_empty(chunk), emptied<Layout::kDoutStages>(chunk));
        barrier_arrive_expect(dout_full, Layout::kChunkBytes);
        load(layout.dout(chunk), Layout::kChunkPanelBytes, maps.dout, dout_full, head, position, batch);
        if (first_of_keys && of_tile == 0) load_keys(head, first_key, batch);
      }
    }
  }
}

/// One thread for each chunk of a tile: adds the collector's parts of dQ to the sums in memory, each when it may, and
/// stores the rows that the last part completes. At head size 128 a chunk takes both places, a panel in each, in turn
/// with the other thread's chunk.
template <int kHeadSize, bool kFp8>
__device__ inline void add_up(const BackwardMaps& maps, const BackwardProblem& p,
                              const BackwardLayout<kHeadSize>& layout, unsigned of_tile) {
  using Layout = BackwardLayout<kHeadSize>;
  constexpr unsigned kPanels = Layout::kPanels;
  unsigned count = kPanels > 1 ? of_tile : 0;  // of what has been in the places before
  for (BackwardCursor at(p, static_cast<int>(blockIdx.x)); at.valid(p);
       at.advance(p), count += kPanels > 1 ? kChunksPerTile : 1) {
    const DqueriesPart<kHeadSize> part(p, at, of_tile);
    while (!part.may_follow(load_acquire(part.added), p.in_turn)) {
    }
    fence_copies_in_memory();
#pragma unroll
    for (unsigned panel = 0; panel < kPanels; ++panel) {
      const unsigned slot = kPanels > 1 ? panel : of_tile;
      // The other thread's chunk has left the place: only then do parities tell this one's filling from that.
      if (kPanels > 1) barrier_wait(layout.dq_empty(slot), emptied<1>(count));
      if (part.last && !part.first) {
        barrier_arrive_expect(layout.dq_before(slot), Layout::kSlotBytes);
        bulk_load(layout.dqueries(slot), part.sum + panel * kSlotFloats, Layout::kSlotBytes,
                  layout.dq_before(slot));
      }
    }
#pragma unroll
    for (unsigned panel = 0; panel < kPanels; ++panel) {
      const unsigned slot = kPanels > 1 ? panel : of_tile;
      const std::uint32_t staging = layout.dqueries(slot);
      float* const sum = part.sum + panel * kSlotFloats;
      barrier_wait(layout.dq_full(slot), filled<1>(count));
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
      barrier_arrive(layout.dq_empty(slot));
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
