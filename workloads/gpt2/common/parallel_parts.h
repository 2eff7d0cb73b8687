// parallel_parts.h: a loop whose turns know nothing of each other, on all threads of the machine. For what the CPU
// computes once and long: references of tests, a model's first weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace ridgeline::gpt2 {

/// Calls work(begin, end) for parts that make up 0 .. count - 1, at the same time, and returns when all are done.
/// `operations`: of one turn, roughly; little work stays on the calling thread. work must not throw.
template <class Work>
void for_parts(std::int64_t count, std::int64_t operations, const Work& work) {
  constexpr std::int64_t kWorthAThread = 1 << 16;
  const std::int64_t most = std::min(count, count * operations / kWorthAThread);
  const std::int64_t parts =
      std::clamp<std::int64_t>(most, 1, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::int64_t part = 1; part < parts; ++part) {
    threads.emplace_back([&, part] { work(count * part / parts, count * (part + 1) / parts); });
  }
  work(std::int64_t{0}, count / parts);
}

}  // namespace ridgeline::gpt2
