// Programs that are no language models: solvers, graphs, pictures behind a data loader, batches by length.
#include <vector>

#include "sequence_writer.h"

namespace ridgeline::steps::corpus {
namespace {

// Sequences sorted by length: one of four lengths a step, in any order; kernels of its own for each.
Sequence buckets(std::uint32_t seed) {
  Program p(seed, 16);
  initialise(p, 120);
  for (int s = 0; s < 60; ++s) {
    const std::uint32_t length = p.dice(4);
    p.pause(1500);
    p.step();
    p.launches(2, 6, 64 << length);
    const auto pass = [&](std::uint32_t base, std::uint32_t count) {
      for (int layer = 0; layer < 8; ++layer)
        for (std::uint32_t k = 0; k < count; ++k)
          p.launch(k % 6 == 1 ? base + 200 + 4 * k + length : base + k % 17, (8 << length) + k % 5);
    };
    pass(1000, 26);
    p.launches(60, 66, 64 << length);
    pass(2000, 44);
    for (std::uint32_t i = 0; i < 12; ++i) p.launch(190, 320 + i % 3);
    if (s == 1) p.steady();
  }
  return p.take();
}

// A right-hand side a step: ten rounds of conjugate gradients, then a transform.
Sequence conjugate_gradients(std::uint32_t seed) {
  Program p(seed, 18);
  p.launches(100, 120);
  for (int s = 0; s < 400; ++s) {
    p.step();
    p.launches(1, 4, 32);
    for (int round = 0; round < 10; ++round) p.launches(10, 21, 32);
    p.launches(30, 34, 16);
    if (s == 0) p.steady();
  }
  return p.take();
}

// The rounds that a tolerance asks for: each step has its own number.
Sequence conjugate_gradients_to_a_tolerance(std::uint32_t seed) {
  Program p(seed, 18);
  p.launches(100, 120);
  for (int s = 0; s < 300; ++s) {
    p.pause(600);
    p.step();
    p.launches(1, 4, 32);
    for (std::uint32_t round = 0, rounds = 9 + p.dice(4); round < rounds; ++round) p.launches(10, 21, 32);
    p.launches(30, 34, 16);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Message passing over a whole graph, by edges and by nodes; the host runs far ahead of the device.
Sequence graph_network(std::uint32_t seed) {
  Program p(seed, 22);
  initialise(p, 12);
  for (int s = 0; s < 150; ++s) {
    p.step();
    for (int layer = 0; layer < 3; ++layer) p.launches(10, 32, 3900);
    p.launches(50, 55, 390);
    for (int layer = 0; layer < 3; ++layer) p.launches(60, 94, 3900);
    p.launches(130, 141);
    if (s == 0) p.steady();
  }
  return p.take();
}

// A decomposition by panels, each smaller than the one before: the grids shrink within the step and begin anew with it.
Sequence gaussian_process(std::uint32_t seed) {
  Program p(seed, 12);
  initialise(p, 6);
  for (int s = 0; s < 80; ++s) {
    p.pause(700);
    p.step();
    p.launches(1, 14, 94);
    for (std::uint32_t panel = 0; panel < 47; ++panel)
      for (std::uint32_t k = 0; k < 3; ++k) p.launch(20 + k, 47 - panel);
    p.launches(40, 58, 94);
    for (int i = 0; i < 9; ++i) p.launches(70, 74);
    if (s == 0) p.steady();
  }
  return p.take();
}

// Pictures come from worker processes: now and then the host waits for them, once long.
Sequence behind_workers(std::uint32_t seed) {
  Program p(seed, 15);
  initialise(p, 100);
  for (int s = 0; s < 60; ++s) {
    p.pause(s % 13 == 12 ? 40'000 : 300.0 * p.dice(6));
    p.step();
    p.launches(1, 3, 784);
    layers(p, 8, 10, 22, 49);
    p.launches(60, 66);
    layers(p, 8, 80, 41, 49);
    for (int chunk = 0; chunk < 6; ++chunk) p.launch(140 + chunk % 2, 320);
    if (s == 1) p.steady();
  }
  return p.take();
}

}  // namespace

std::vector<Kind> solver_kinds() {
  return {
      {"batches of four lengths", buckets},
      {"conjugate gradients, ten rounds", conjugate_gradients},
      {"conjugate gradients to a tolerance", conjugate_gradients_to_a_tolerance},
      {"graph network", graph_network},
      {"Gaussian process, panels that shrink", gaussian_process},
      {"pictures behind data-loader workers", behind_workers},
  };
}

}  // namespace ridgeline::steps::corpus
