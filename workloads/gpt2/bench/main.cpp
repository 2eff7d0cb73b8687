// bench: times the trainer's kernels and the libraries' at the size of GPT-2 124M, or another.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "gpt2/bench/bench.h"

namespace {

using namespace ridgeline::gpt2;

struct Group {
  const char* name;
  const char* what;
  void (*run)(bench::Bench&);
};
constexpr Group kGroups[] = {
    {"activations", "layernorms, GELU, residual addition and bias gradients, fast and slow sides",
     bench::bench_activations},
    {"ends", "embedding, classifier and optimizer, fast and slow sides", bench::bench_ends},
    {"attention", "every attention there is, forward and backward", bench::bench_attention},
    {"gemm", "a layer's GEMMs by cuBLASLt in BF16 and FP8, and the own ones with GELU", bench::bench_gemm},
    {"fp8", "kernels that write FP8, and forms of the casting kernel", bench::bench_fp8},
};

}  // namespace

int main(int argc, char** argv) {
  bench::Settings s;
  std::vector<std::string> wanted;
  bool list = false;
  CLI::App app("Times the trainer's kernels and the libraries'. Without a group all of them run.", "bench");
  app.add_option("GROUP", wanted, "Groups to run; --list prints them");
  app.add_flag("--list", list, "Print the groups and exit");
  app.add_option("--only", s.only, "Rows whose name contains this");
  app.add_option("--batch", s.batch, "B [32]")->check(CLI::PositiveNumber);
  app.add_option("--sequence", s.sequence, "T [1024]")->check(CLI::PositiveNumber);
  app.add_option("--channels", s.channels, "C [768]")->check(CLI::PositiveNumber);
  app.add_option("--heads", s.heads, "NH [12]")->check(CLI::PositiveNumber);
  app.add_option("--block-ms", s.block_ms, "Length of one timed block [20]")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "Blocks of a row [5]")->check(CLI::PositiveNumber);
  app.add_option("--search", s.search, "Of cuBLASLt's algorithms: off or full [off]")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, MatmulSearch>{{"off", MatmulSearch::off}, {"full", MatmulSearch::full}}));
  app.add_option("--cache", s.cache, "File that keeps what the search found");
  CLI11_PARSE(app, argc, argv);
  const auto known = [&](const std::string& name) {
    for (const Group& group : kGroups) {
      if (name == group.name) return true;
    }
    return false;
  };
  for (const std::string& name : wanted) {
    if (known(name)) continue;
    std::fprintf(stderr, "bench: no group '%s': --list prints them\n", name.c_str());
    return 2;
  }
  if (list) {
    for (const Group& group : kGroups) std::printf("%-12s %s\n", group.name, group.what);
    return 0;
  }
  try {
    bench::Bench bench(s);
    std::printf("B %d T %d C %d NH %d, %d blocks of %.0f ms each, in turn\n", s.batch, s.sequence, s.channels,
                s.heads, s.rounds, s.block_ms);
    std::printf("%-52s%10s%20s%8s%9s%7s%7s\n", "", "us", "lowest..highest ", "GB/s", "TFLOP/s", "GHz",
                "pipe %");
    for (const Group& group : kGroups) {
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), group.name) != wanted.end()) {
        group.run(bench);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 5;
  }
  return 0;
}
