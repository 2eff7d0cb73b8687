#include "corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "ridgeline/steps/step_watch.h"

namespace ridgeline::steps::corpus {
namespace {

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

// What goes before the first step: parameters are made and filled, one after the other.
void initialise(Program& p, int parameters) {
  for (int i = 0; i < parameters; ++i) {
    p.launch(9000 + p.dice(3), 1 + p.dice(400));
    p.launch(9003 + p.dice(4), 1 + p.dice(400));
  }
}

// Transformer layers, forward and back: kernels from `base` on, `forward` and `backward` launches each.
void layers(Program& p, int count, std::uint32_t base, std::uint32_t forward, std::uint32_t grid) {
  for (int layer = 0; layer < count; ++layer)
    for (std::uint32_t k = 0; k < forward; ++k) p.launch(base + (k * 7) % (forward / 2 + 1), grid + k % 5);
}

Sequence hf_eager(std::uint32_t seed) {
  Program p(seed, 19);
  initialise(p, 150);
  for (int s = 0; s < 32; ++s) {
    p.pause(8000);
    p.step();
    p.launches(2, 6, 4096);
    layers(p, 12, 10, 33, 32);
    p.launches(60, 72);
    layers(p, 12, 80, 53, 32);
    p.launches(130, 134);
    for (int chunk = 0; chunk < 24; ++chunk) p.launch(140 + chunk % 6, 320);
    if (s == 0)
      for (int i = 0; i < 148; ++i) p.launch(150, 1 + i % 9);  // the optimizer's state
    if (s == 1) p.steady();
  }
  return p.take();
}

// Every batch of another length: grids and GEMM kernels go by it; now and then the scaler skips an update.
Sequence bert(std::uint32_t seed) {
  Program p(seed, 40);
  initialise(p, 200);
  for (int s = 0; s < 50; ++s) {
    const std::uint32_t length = 64 + 8 * p.dice(57), variant = length / 100;
    p.pause(3000 + 10.0 * length);
    p.step();
    p.launches(2, 8, length);
    const auto pass = [&](std::uint32_t base, std::uint32_t count) {
      for (int layer = 0; layer < 12; ++layer)
        for (std::uint32_t k = 0; k < count; ++k) {
          const bool gemm = k % 4 == 1;
          p.launch(base + (gemm ? 100 + 10 * k + variant : k), length * (1 + k % 3));
          if (gemm && variant == 2 && k % 8 == 1) p.launch(base + 99, length);  // split-K's reduction
        }
    };
    pass(1000, 31);
    p.launches(20, 27, length);
    pass(2000, 52);
    p.launches(30, 34, length);
    for (int i = 0; i < 8; ++i) p.launch(40, 320);  // unscale
    if (p.dice(20) != 0)
      for (int i = 0; i < 40; ++i) p.launch(41 + i % 4, 320);
    p.launch(46);
    if (s == 1) p.steady();
  }
  return p.take();
}

// The compiled step of a scan under rematerialisation: two halves, alike but for a few launches.
Sequence jax_halves(std::uint32_t seed) {
  Program p(seed, 70);
  initialise(p, 60);
  for (int s = 0; s < 80; ++s) {
    p.pause(200);
    p.step();
    for (int half = 0; half < 2; ++half) {
      p.launch(5);
      for (int layer = 0; layer < 12; ++layer) p.launches(10, 15, 64);
      p.launch(half == 0 ? 20 : 21);
      p.launch(22, half == 0 ? 8 : 9);
      p.launch(23);
    }
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence four_streams(std::uint32_t seed) {
  Program p(seed, 28);
  p.launches(200, 230);
  for (int s = 0; s < 400; ++s) {
    p.pause(300);
    p.step();
    p.launch(1, 512);
    for (int stream = 0; stream < 4; ++stream)
      for (std::uint32_t k = 0; k < 12; ++k) p.launch(2 + k % 4, 64 * (1 + k % 3));
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence flex_attention(std::uint32_t seed) {
  Program p(seed, 60);
  initialise(p, 10);
  for (int s = 0; s < 400; ++s) {
    p.pause(2500);
    p.step();
    p.launch(1, 256);
    p.launch(2, 256);
    p.launch(3, 256);
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence graphs(std::uint32_t seed) {
  Program p(seed, 30);
  initialise(p, 400);
  for (int s = 0; s < 300; ++s) {
    p.pause(3500);
    p.step();
    p.graph(0x7f0000001000 + 0x1000 * std::uint64_t{seed});
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence graphs_and_launches(std::uint32_t seed) {
  Program p(seed, 30);
  initialise(p, 400);
  for (int s = 0; s < 200; ++s) {
    p.pause(6000);
    p.step();
    p.launch(5);
    p.graph(0x7f0000001000);
    p.graph(0x7f0000002000);
    for (std::uint32_t k = 0; k < 6; ++k) p.launch(50, k);
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence lstm(std::uint32_t seed) {
  Program p(seed, 8);
  initialise(p, 30);
  for (int s = 0; s < 26; ++s) {
    p.pause(600);
    p.step();
    p.launches(2, 5);
    for (int t = 0; t < 512; ++t)
      for (std::uint32_t k = 0; k < 3; ++k) p.launch(10 + k, 64);
    p.launches(30, 38);
    for (int t = 0; t < 512; ++t)
      for (std::uint32_t k = 0; k < 5; ++k) p.launch(20 + k, 64);
    for (int i = 0; i < 12; ++i) p.launch(40 + i % 3, 320);
    p.launches(50, 52);
    if (s == 0) p.steady();
  }
  return p.take();
}

void micro_step(Program& p) {
  p.pause(2000);
  p.launches(2, 5, 128);
  layers(p, 12, 10, 14, 32);
  p.launches(60, 66);
  layers(p, 12, 80, 23, 32);
}

Sequence accumulation(std::uint32_t seed, int micro_steps) {
  Program p(seed, 15);
  initialise(p, 150);
  for (int s = 0; s < 16; ++s) {
    p.step();
    for (int m = 0; m < micro_steps; ++m) micro_step(p);
    p.launches(130, 133);
    for (int chunk = 0; chunk < 24; ++chunk) p.launch(140 + chunk % 6, 320);
    if (s == 0) p.steady();
  }
  return p.take();
}

void training_step(Program& p) {
  micro_step(p);
  p.launches(130, 133);
  for (int chunk = 0; chunk < 24; ++chunk) p.launch(140 + chunk % 6, 320);
}

Sequence evaluation(std::uint32_t seed) {
  Program p(seed, 20);
  initialise(p, 150);
  for (int s = 0; s < 70; ++s) {
    p.step();
    training_step(p);
    if (s == 0) p.steady();
    if (s % 10 != 9) continue;
    for (int batch = 0; batch < 3; ++batch) {
      p.pause(2000);
      p.launches(2, 5, 96);
      layers(p, 12, 10, 14, 24);
      p.launches(160, 163);
    }
  }
  return p.take();
}

// Tokens of a request, whose attention's grid grows; the prompt has larger GEMMs.
Sequence decoding(std::uint32_t seed) {
  Program p(seed, 16);
  initialise(p, 150);
  for (int request = 0; request < 5; ++request) {
    const int tokens = 60 + static_cast<int>(p.dice(40));
    p.step();  // the prompt: what is launched before its first token belongs to none
    for (int t = 0; t <= tokens; ++t) {
      p.pause(5000);
      if (t > 0) p.step();
      p.launches(2, 12);
      for (int layer = 0; layer < 16; ++layer)
        for (std::uint32_t k = 0; k < 41; ++k) {
          const bool gemm = k % 6 == 2;
          p.launch(t == 0 && gemm ? 300 + k : 20 + (k * 3) % 29, k == 20 ? 1 + t / 16 : t == 0 ? 40 : 4);
        }
      p.launches(60, 82);
    }
    if (request == 0) p.steady();
  }
  return p.take();
}

Sequence diffusion(std::uint32_t seed) {
  Program p(seed, 22);
  initialise(p, 300);
  for (int image = 0; image < 4; ++image) {
    p.pause(5000);
    layers(p, 12, 500, 20, 8);  // the text's encoder
    for (int t = 0; t < 50; ++t) {
      p.pause(1500);
      p.step();
      p.launches(2, 9);
      for (int block = 0; block < 14; ++block)
        for (std::uint32_t k = 0; k < 24; ++k)
          p.launch(20 + (k * 5) % 17, 16u << (block < 7 ? block / 2 : 6 - block / 2));
      p.launches(60, 68);
    }
    if (image == 0) p.steady();
    p.pause(3000);
    for (int block = 0; block < 10; ++block) p.launches(700, 718, 100 * block);  // the decoder
  }
  return p.take();
}

Sequence gan(std::uint32_t seed, int critics) {
  Program p(seed, 18);
  initialise(p, 60);
  for (int s = 0; s < 80; ++s) {
    p.step();
    for (int c = 0; c < critics; ++c) {
      p.pause(1000);
      p.launches(10, 29);  // generator, forward
      p.launches(40, 55);  // critic, forward, of what is real
      p.launches(40, 55);  // and of what is not
      p.launches(60, 90);  // critic, back
      for (int i = 0; i < 6; ++i) p.launch(120 + i % 3, 40);
    }
    p.pause(500);
    p.launches(10, 29);
    p.launches(40, 55);
    p.launches(60, 90);
    p.launches(150, 190);  // generator, back
    for (int i = 0; i < 8; ++i) p.launch(120 + i % 3, 60);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Which experts have tokens, and how many, goes by the data.
Sequence experts(std::uint32_t seed) {
  Program p(seed, 17);
  initialise(p, 300);
  for (int s = 0; s < 40; ++s) {
    p.pause(3000);
    p.step();
    p.launches(2, 6);
    for (int pass = 0; pass < 2; ++pass) {
      for (int layer = 0; layer < 12; ++layer) {
        p.launches(20 + 100 * pass, 36 + 100 * pass, 32);
        for (std::uint32_t expert = 0; expert < 8; ++expert)
          if (p.dice(8) != 0)
            for (std::uint32_t k = 0; k < 4; ++k) p.launch(50 + 100 * pass + k, 1 + p.dice(60));
        p.launches(60 + 100 * pass, 63 + 100 * pass, 32);
      }
      p.launches(80 + 100 * pass, 86 + 100 * pass);
    }
    for (int chunk = 0; chunk < 30; ++chunk) p.launch(240 + chunk % 6, 320);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Rollouts of an environment on the host, then epochs of updates.
Sequence reinforcement(std::uint32_t seed) {
  Program p(seed, 14);
  initialise(p, 20);
  for (int s = 0; s < 22; ++s) {
    p.step();
    for (int t = 0; t < 128; ++t) {
      p.pause(300);
      p.launches(10, 24);
    }
    p.launches(30, 45);
    for (int update = 0; update < 16; ++update) {
      p.pause(200);
      p.launches(50, 64);
      p.launches(70, 95);
      for (int i = 0; i < 8; ++i) p.launch(100 + i % 4, 8);
    }
    if (s == 0) p.steady();
  }
  return p.take();
}

// Episodes end when they end: a different number of environment steps in each iteration.
Sequence reinforcement_by_episode(std::uint32_t seed) {
  Program p(seed, 14);
  initialise(p, 20);
  for (int s = 0; s < 32; ++s) {
    p.step();
    p.launches(2, 5);
    for (int t = 100 + static_cast<int>(p.dice(50)); t > 0; --t) {
      p.pause(250);
      p.launches(10, 24);
    }
    p.launches(30, 45);
    for (int update = 0; update < 10; ++update) {
      p.launches(50, 64);
      p.launches(70, 95);
      for (int i = 0; i < 8; ++i) p.launch(100 + i % 4, 8);
    }
    if (s == 0) p.steady();
  }
  return p.take();
}

// One grid goes by the tokens; the rest is the same each time.
Sequence llmc(std::uint32_t seed) {
  Program p(seed, 9);
  initialise(p, 16);
  for (int s = 0; s < 50; ++s) {
    p.pause(24'000);
    p.step();
    p.launch(1, 12288);
    layers(p, 12, 5, 12, 4096);
    p.launches(30, 33);
    layers(p, 12, 40, 21, 4096);
    p.launch(60, 75'000 + p.dice(500));
    p.launch(61);
    p.launches(62, 64);
    for (int i = 0; i < 16; ++i) p.launch(66, 100 + static_cast<std::uint32_t>(i));
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence server(std::uint32_t seed) {
  Program p(seed, 15);
  initialise(p, 200);
  for (int request = 0; request < 300; ++request) {
    const std::uint32_t batch = 1 + p.dice(32), variant = batch / 8;
    p.pause(p.dice(3) == 0 ? 500 + p.dice(40'000) : 1'500);
    p.step();
    p.launches(2, 5, batch);
    for (int layer = 0; layer < 12; ++layer)
      for (std::uint32_t k = 0; k < 14; ++k)
        p.launch(k % 4 == 1 ? 100 + 10 * k + variant : 10 + k, batch * (1 + k % 3));
    p.launches(60, 64, batch);
    if (request == 0) p.steady();
  }
  return p.take();
}

Sequence speculative(std::uint32_t seed) {
  Program p(seed, 15);
  initialise(p, 200);
  for (int s = 0; s < 60; ++s) {
    p.step();
    for (int draft = 0; draft < 4; ++draft) {
      p.pause(600);
      p.launches(2, 6);
      layers(p, 4, 10, 18, static_cast<std::uint32_t>(4 + s / 20));
      p.launches(40, 44);
    }
    p.pause(900);
    p.launches(50, 54);
    layers(p, 16, 60, 26, static_cast<std::uint32_t>(8 + s / 20));
    p.launches(90, 99);
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence resnet(std::uint32_t seed) {
  Program p(seed, 25);
  initialise(p, 160);
  for (int s = 0; s < 60; ++s) {
    p.pause(4000);
    p.step();
    p.launches(2, 5);
    std::uint32_t width = 64;
    for (const int blocks : {3, 4, 6, 3}) {
      for (int b = 0; b < blocks; ++b) p.launches(10, 21, width);
      width *= 2;
    }
    p.launches(30, 34);
    for (const int blocks : {3, 6, 4, 3}) {
      for (int b = 0; b < blocks; ++b) p.launches(40, 62, width);
      width /= 2;
    }
    for (int i = 0; i < 12; ++i) p.launch(70 + i % 3, 320);
    if (s == 1) p.steady();
    if (s == 0)
      for (int i = 0; i < 500; ++i) p.launch(800 + p.dice(60), 1 + p.dice(60));  // convolutions are tried
  }
  return p.take();
}

// Each layer takes as long as another program's step.
Sequence slow_layers(std::uint32_t seed) {
  Program p(seed, 600);
  initialise(p, 300);
  for (int s = 0; s < 14; ++s) {
    p.pause(3000);
    p.step();
    p.launches(2, 4);
    layers(p, 96, 10, 14, 512);
    p.launches(60, 66);
    layers(p, 96, 80, 22, 512);
    for (int chunk = 0; chunk < 60; ++chunk) p.launch(140 + chunk % 6, 320);
    if (s == 0) p.steady();
  }
  return p.take();
}

// In mid-run the program compiles anew: other kernels from there on.
Sequence recompiled(std::uint32_t seed) {
  Program p(seed, 20);
  initialise(p, 100);
  for (int s = 0; s < 200; ++s) {
    const std::uint32_t base = s < 120 ? 0 : 400;
    p.pause(s == 120 ? 900'000 : 1500);
    p.step();
    p.launches(base + 2, base + 60, 64);
    p.launches(base + 70, base + 130, 64);
    for (int i = 0; i < 10; ++i) p.launch(300 + static_cast<std::uint32_t>(i) % 3, 320);
    if (s == 0) p.steady();
  }
  return p.take();
}

Sequence autotuned(std::uint32_t seed) {
  Program p(seed, 15);
  for (int i = 0; i < 20; ++i)
    for (int repeat = 0; repeat < 60; ++repeat)
      p.launch(500 + static_cast<std::uint32_t>(i), 64), p.launch(499, 320);
  for (int s = 0; s < 60; ++s) {
    p.step();
    training_step(p);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Seconds of autotuning by a compiler: each candidate of each GEMM is compiled, run between checks of its output, and
// its period is a good part of a step in time.
Sequence autotuned_long(std::uint32_t seed) {
  Program p(seed, 70);
  initialise(p, 60);
  for (std::uint32_t gemm = 0; gemm < 14; ++gemm)
    for (std::uint32_t candidate = 0; candidate < 30; ++candidate) {
      p.pause(5000);
      p.launches(600, 602, 100 + gemm);
      for (int run = 0; run < 12; ++run) {
        p.launch(603, 64);
        p.launch(700 + (gemm * 5 + candidate) % 40, 100 + gemm);
      }
      p.launches(604, 605, 100 + gemm);
    }
  for (int s = 0; s < 150; ++s) {
    p.pause(200);
    p.step();
    p.launch(5);
    for (int layer = 0; layer < 24; ++layer) p.launches(10, 15, 64);
    p.launches(20, 27);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Seconds of training, a second of evaluation, and on.
Sequence long_evaluation(std::uint32_t seed) {
  Program p(seed, 20);
  initialise(p, 150);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int s = 0; s < 260; ++s) {
      p.step();
      training_step(p);
      if (s == 0 && epoch == 0) p.steady();
    }
    for (int batch = 0; batch < 200; ++batch) {
      p.pause(2000);
      p.launches(2, 5, 96);
      layers(p, 12, 10, 14, 24);
      p.launches(160, 163);
    }
  }
  for (int s = 0; s < 20; ++s) p.step(), training_step(p);
  return p.take();
}

// Another thread's kernel now and then, data-loader's copies by kernel.
Sequence noisy(std::uint32_t seed) {
  Program p(seed, 20);
  initialise(p, 150);
  for (int s = 0; s < 70; ++s) {
    p.step();
    micro_step(p);
    if (p.dice(6) == 0) p.launch(700);
    p.launches(130, 133);
    for (int chunk = 0; chunk < 24; ++chunk) {
      p.launch(140 + chunk % 6, 320);
      if (p.dice(150) == 0) p.launch(700);
    }
    if (s == 0) p.steady();
  }
  return p.take();
}

// A loop over parameters in Python: a dozen small launches each.
Sequence unfused_optimizer(std::uint32_t seed) {
  Program p(seed, 14);
  initialise(p, 150);
  for (int s = 0; s < 36; ++s) {
    p.step();
    micro_step(p);
    for (int parameter = 0; parameter < 148; ++parameter)
      p.launches(130, 139, static_cast<std::uint32_t>(1 + parameter % 5 * 10));
    if (s == 0) p.steady();
  }
  return p.take();
}

// Forward passes only: layers all the way, little before and behind them.
Sequence inference(std::uint32_t seed) {
  Program p(seed, 12);
  initialise(p, 100);
  for (int s = 0; s < 60; ++s) {
    p.pause(900);
    p.step();
    p.launches(2, 4);
    layers(p, 48, 10, 16, 64);
    p.launches(60, 65);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Nothing but equal halves: each half is the step.
Sequence ping_pong(std::uint32_t seed) {
  Program p(seed, 25);
  initialise(p, 10);
  for (int s = 0; s < 400; ++s) {
    p.pause(400);
    p.step();
    p.launches(2, 40);
    if (s == 0) p.steady();
  }
  return p.take();
}

// A loop that never waits: the queue's back-pressure paces it evenly.
Sequence asynchronous(std::uint32_t seed) {
  Program p(seed, 45);
  initialise(p, 16);
  for (int s = 0; s < 100; ++s) {
    p.step();
    p.launch(1, 128);
    layers(p, 12, 10, 10, 32);
    p.launch(90);
    layers(p, 12, 40, 15, 32);
    p.launch(2, 128);
    p.launch(100);
    for (std::uint32_t i = 0; i < 9; ++i) p.launch(101, 10 + i);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Requests that come and go: the batch, and with it grids and GEMM kernels, changes between tokens.
Sequence batched_decoding(std::uint32_t seed) {
  Program p(seed, 16);
  initialise(p, 150);
  std::uint32_t batch = 4;
  for (int t = 0; t < 160; ++t) {
    if (p.dice(5) == 0) batch = 1 + p.dice(16);
    p.pause(2500);
    p.step();
    p.launches(2, 8, batch);
    for (int layer = 0; layer < 16; ++layer)
      for (std::uint32_t k = 0; k < 18; ++k)
        p.launch(k % 5 == 1 ? 100 + 10 * k + batch / 4 : 10 + k,
                 k == 9 ? 1 + p.dice(30) : batch * (1 + k % 3));
    p.launches(60, 70, batch);
    if (t == 0) p.steady();
  }
  return p.take();
}

}  // namespace

std::vector<Kind> kinds() {
  return {
      {"eager training", hf_eager},
      {"training, batches of other lengths", bert},
      {"compiled scan, two equal halves", jax_halves},
      {"four streams, 49 launches", four_streams},
      {"attention alone, 3 launches", flex_attention},
      {"CUDA graph, one a step", graphs},
      {"CUDA graphs and launches", graphs_and_launches},
      {"LSTM, thousands of equal launches", lstm},
      {"accumulation of 4 micro-steps", [](std::uint32_t seed) { return accumulation(seed, 4); }},
      {"accumulation of 16 micro-steps", [](std::uint32_t seed) { return accumulation(seed, 16); }},
      {"evaluation every tenth step", evaluation},
      {"decoding with prompts", decoding},
      {"diffusion sampler", diffusion},
      {"GAN, two optimizers", [](std::uint32_t seed) { return gan(seed, 1); }},
      {"GAN, five critic steps", [](std::uint32_t seed) { return gan(seed, 5); }},
      {"mixture of experts", experts},
      {"reinforcement learning", reinforcement},
      {"reinforcement learning by episode", reinforcement_by_episode},
      {"one grid by the tokens", llmc},
      {"inference server, random batches", server},
      {"speculative decoding", speculative},
      {"convolutions", resnet},
      {"96 slow layers", slow_layers},
      {"recompiled in mid-run", recompiled},
      {"after autotuning", autotuned},
      {"after seconds of autotuning", autotuned_long},
      {"a second of evaluation", long_evaluation},
      {"kernels of another thread", noisy},
      {"optimizer by parameter", unfused_optimizer},
      {"forward passes of 48 layers", inference},
      {"one loop, 39 launches", ping_pong},
      {"a loop that never waits", asynchronous},
      {"batched decoding, requests come and go", batched_decoding},
  };
}

namespace {

// `period`: launches of a step of a program whose steps are all alike at its end, counted back from there; else `once`
// is a kernel that each step has once.
Sequence read(const std::string& path, std::uint32_t period, std::uint32_t once, std::size_t steady) {
  Sequence s;
  const std::string command = "gzip -dc '" + path + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> file(popen(command.c_str(), "r"), pclose);
  if (file == nullptr) return s;
  unsigned kernel, x, y, z;
  long long ns;
  unsigned long long context, graph, correlation;
  std::int64_t first = 0;
  while (std::fscanf(file.get(), "%u %u %u %u %lld %llu %llu %llu", &kernel, &x, &y, &z, &ns, &context,
                     &graph, &correlation) == 8) {
    if (first == 0) first = ns - 1'000'000'000;
    if (period == 0 && kernel == once) s.steps.push_back(s.launches.size());
    s.launches.push_back({key_of(kernel, x, y, z), static_cast<std::uint32_t>((ns - first) / 1000)});
    s.times_ns.push_back(ns - first);
  }
  const std::size_t n = s.launches.size();
  if (period != 0)
    for (std::size_t at = n % period; at < n; at += period) s.steps.push_back(at);
  s.steady = steady;
  return s;
}

}  // namespace

std::vector<Kind> recorded(const std::string& directory) {
  struct Known {
    const char* name;
    std::uint32_t launches, once;
    std::size_t steady;
  };
  std::vector<Kind> found;
  for (const Known& known : {Known{"hf-good", 1153, 0, 2},
                             {"hf-bad-period", 1153, 0, 2},
                             {"generate", 0, 49, 9},
                             {"llmc", 424, 0, 1}}) {
    const std::string path = directory + "/" + known.name + ".txt.gz";
    if (FILE* file = std::fopen(path.c_str(), "rb")) {
      std::fclose(file);
      auto whole = std::make_shared<Sequence>(read(path, known.launches, known.once, known.steady));
      found.push_back({known.name, [whole](std::uint32_t) { return *whole; }});
    }
  }
  return found;
}

Sequence from(const Sequence& whole, std::size_t step, double part) {
  const std::size_t end = step + 1 < whole.steps.size() ? whole.steps[step + 1] : whole.launches.size();
  const std::size_t first =
      whole.steps[step] + static_cast<std::size_t>(part * static_cast<double>(end - whole.steps[step]));
  Sequence cut;
  cut.launches.assign(whole.launches.begin() + static_cast<std::ptrdiff_t>(first), whole.launches.end());
  cut.times_ns.assign(whole.times_ns.begin() + static_cast<std::ptrdiff_t>(first), whole.times_ns.end());
  for (const std::size_t at : whole.steps)
    if (at >= first) cut.steps.push_back(at - first);
  return cut;
}

namespace {

// Whether these borders, launches of the sequence in order, come once in each of the steps from `first` to before
// `last`, but for one in seven: beside an evaluation a border may be missed or come too often.
bool once_a_step(const Sequence& s, const std::vector<std::size_t>& borders, std::size_t first,
                 std::size_t last) {
  std::size_t right = 0;
  for (std::size_t step = first; step < last; ++step) {
    const std::size_t end = step + 1 < s.steps.size() ? s.steps[step + 1] : s.launches.size();
    const auto begin_at = std::lower_bound(borders.begin(), borders.end(), s.steps[step]);
    const auto end_at = std::lower_bound(borders.begin(), borders.end(), end);
    right += end_at - begin_at == 1;
  }
  return last > first && right * 7 >= (last - first) * 6;
}

std::vector<std::size_t> cut(const Sequence& s, const StepPeriodFound& found) {
  StepCutter cutter(found.period.anchor, found.periods);
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i < s.launches.size(); ++i)
    if (cutter.launch(s.launches[i].key)) borders.push_back(i);
  return borders;
}

}  // namespace

Verdict judge(const Sequence& s) {
  constexpr std::int64_t kTickNs = 50'000'000;
  Verdict verdict;
  const std::size_t steps = s.steps.size();
  if (steps < s.steady + 8) return verdict;
  const std::int64_t start_ns = s.times_ns[s.steps[s.steady]];
  const std::int64_t deadline_ns = std::max(start_ns + 300'000'000, s.times_ns[s.steps[s.steady + 5]]);
  // Steps judged for a period that was found there: those that follow, ten of them at least where the program has them.
  const auto right = [&](const StepPeriodFound& found, std::size_t step) {
    const std::size_t first = std::min(step, steps - 8), last = std::min(steps - 1, first + 20);
    return once_a_step(s, cut(s, found), first, last);
  };
  StepWatch watch;
  StepPeriodFound found, in_force;
  bool active = false, active_right = false, decided = false;
  std::int64_t last_tick_ns = s.times_ns.front();
  for (std::size_t i = 0; i < s.launches.size(); ++i) {
    const std::int64_t now = s.times_ns[i];
    if (!decided && now > deadline_ns) {
      decided = true;
      verdict.in_time = active && active_right;
    }
    if (now - last_tick_ns < kTickNs) continue;
    last_tick_ns = now;
    const std::size_t size = watch.wanted(i + 1, now);
    if (size == 0 || !watch.look(s.launches.data() + i + 1 - size, size, i + 1, now, &found)) continue;
    const std::size_t step =
        static_cast<std::size_t>(std::upper_bound(s.steps.begin(), s.steps.end(), i) - s.steps.begin());
    verdict.replaced += active;
    active = true;
    in_force = found;
    active_right = right(found, step);
    verdict.launches = found.step_launches();
    if (std::getenv("STEP_CORPUS_VERBOSE") != nullptr)
      std::printf(
          "  step %zu %.3f s: %u launches x %u, %.3f ms, seen %u, odd %u, coverage %.3f, own %.3f s, %s%s: "
          "%s\n",
          step, static_cast<double>(now - start_ns) / 1e9, found.period.launches, found.periods,
          static_cast<double>(found.period.ns) / 1e6, found.period.repeats, found.period.odd,
          found.period.coverage, static_cast<double>(found.period.own_ns) / 1e9,
          found.period.varies         ? "varying"
          : found.period.anchor.exact ? "exact"
                                      : "kernels",
          found.replaces ? ", replaces" : "", active_right ? "right" : "wrong");
    if (!active_right) verdict.ever_wrong = true;
    if (active_right && verdict.found_steps < 0)
      verdict.found_steps = static_cast<double>(step) - static_cast<double>(s.steady);
  }
  if (!decided) verdict.in_time = active && active_right;
  verdict.in_the_end = active && right(in_force, steps - 9);
  return verdict;
}

bool right_at_import(const Sequence& s) {
  PeriodSearch search(1u << 20);
  StepPeriodFound found;
  if (!search.find_anywhere(s.launches.data(), s.launches.size(), &found.period)) return false;
  // From where the steps begin that were found: a program that compiles anew has others before.
  const auto first = static_cast<std::size_t>(
      std::upper_bound(s.steps.begin(), s.steps.end(), found.period.begin) - s.steps.begin());
  if (first + s.steps.size() / 5 > s.steps.size()) return false;
  return once_a_step(s, cut(s, found), first, s.steps.size() - 1);
}

}  // namespace ridgeline::steps::corpus
