// bench_main.h: how the benchmarks end.
#pragma once

#include <cstdio>
#include <exception>

namespace ridgeline::gpt2 {

/// What `run` returns, or one line with what went wrong and 5.
template <class Run>
int bench_main(const char* name, Run&& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 5;
  }
}

}  // namespace ridgeline::gpt2
