#include "corpus.h"

#include "sequence_writer.h"

namespace ridgeline::steps::corpus {

namespace {

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

// Forward passes only: layers all the way, little before and after them.
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
  std::vector<Kind> all = {
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
  for (Kind& kind : solver_kinds()) all.push_back(std::move(kind));
  return all;
}

}  // namespace ridgeline::steps::corpus
