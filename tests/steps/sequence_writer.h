/// sequence_writer.h: what the generated programs of the corpus are written with.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "corpus.h"

namespace ridgeline::steps::corpus {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint32_t operator()(std::uint32_t below) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>(state_ >> 33) % below;
  }
  double part() { return (*this)(1u << 20) / double(1u << 20); }

 private:
  std::uint64_t state_;
};

/// Writes a program's launches. Kernels are loaded at their first launch, which takes its time.
class Program {
 public:
  Program(std::uint32_t seed, double gap_us) : dice(seed), gap_us_(gap_us) {}
  Dice dice;

  void launch(std::uint32_t kernel, std::uint32_t grid = 1) { put(key_of(kernel, grid, 1, 1), kernel); }
  void graph(std::uint64_t handle) { put(graph_key(handle), 0); }
  /// Launches first to last, in order.
  void launches(std::uint32_t first, std::uint32_t last, std::uint32_t grid = 1) {
    for (std::uint32_t k = first; k <= last; ++k) launch(k, grid + k % 7);
  }
  void pause(double us) { pause_us_ += us; }
  void step() { sequence_.steps.push_back(sequence_.launches.size()); }
  void steady() { sequence_.steady = sequence_.steps.size(); }
  [[nodiscard]] double now_s() const { return now_ns_ / 1e9; }
  Sequence take() { return std::move(sequence_); }
  void gap(double us) { gap_us_ = us; }

 private:
  void put(Key key, std::uint32_t kernel) {
    double us = gap_us_ * (0.6 + 0.8 * dice.part()) + pause_us_ * (0.9 + 0.2 * dice.part());
    if (dice(200) == 0) us += 10 * gap_us_;  // the host is busy with something else
    pause_us_ = 0;
    if (kernel >= seen_.size()) seen_.resize(kernel + 1000, false);
    if (!seen_[kernel]) {
      seen_[kernel] = true;
      us += 200 + dice(dice(20) == 0 ? 100'000 : 3'000);
    }
    now_ns_ += us * 1000;
    sequence_.launches.push_back(
        {key, static_cast<std::uint32_t>(static_cast<std::uint64_t>(now_ns_ / 1000))});
    sequence_.times_ns.push_back(static_cast<std::int64_t>(now_ns_));
  }
  Sequence sequence_;
  double gap_us_, pause_us_ = 0, now_ns_ = 1e9;
  std::vector<bool> seen_;
};

/// What goes before the first step: parameters are made and filled, one after the other.
inline void initialise(Program& p, int parameters) {
  for (int i = 0; i < parameters; ++i) {
    p.launch(9000 + p.dice(3), 1 + p.dice(400));
    p.launch(9003 + p.dice(4), 1 + p.dice(400));
  }
}

/// Transformer layers, forward and back: kernels from `base` on, `forward` launches each.
inline void layers(Program& p, int count, std::uint32_t base, std::uint32_t forward, std::uint32_t grid) {
  for (int layer = 0; layer < count; ++layer)
    for (std::uint32_t k = 0; k < forward; ++k) p.launch(base + (k * 7) % (forward / 2 + 1), grid + k % 5);
}

/// Of corpus_solvers.cpp; kinds() has them.
std::vector<Kind> solver_kinds();

}  // namespace ridgeline::steps::corpus
