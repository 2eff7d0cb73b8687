// fabricate_main.cpp: writes the fabricated capture to a file, to look at reports without a GPU.
#include <cstdio>
#include <string>

#include "fabricated_capture.h"
#include "ridgeline/base/error.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: fabricate_capture FILE "
        "[refused|losses|fast|unpadded|nosteps|samples|cold|exclude|disagree|codes|declared|graphs|overlap|"
        "ranks=N|"
        "layers=N|run=N|factor=X|grid=X|copies=N|extra=KERNEL|slow=KERNEL:FACTOR|commit=HASH|driver=VERSION|"
        "start=SECONDS|"
        "hostile]\n");
    return 2;
  }
  ridgeline::testing::FabricatedCapture options;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "refused") options.tier_refused = true;
    if (word == "losses") options.losses = true;
    if (word == "fast") options.fast = true;
    if (word == "unpadded") options.unpadded = true;
    if (word == "nosteps") options.step_ranges = false;
    if (word == "samples") options.sample_steps = 6;
    if (word == "cold") options.cold_steps = 2;
    if (word == "exclude") options.exclude_attention = true;
    if (word == "disagree") options.t1_outlier = 0.05;
    if (word == "codes") options.codes = true;
    if (word == "declared") options.declared = true;
    if (word == "graphs") options.graphs = true;
    if (word == "overlap") options.overlap = true;
    if (word.starts_with("ranks=")) options.ranks = std::stoi(word.substr(6));
    if (word.starts_with("layers=")) options.layers = std::stoi(word.substr(7));
    if (word == "hostile") {
      options.extra_kernel =
          "\x1b]0;owned\x07</td><script>x</script>,\"|`*_[a](b)\r\n::error::%0A]]>&\xff{}\\";
      options.command_line = "\x1b[31m./evil \"]]>\x02 ::warning::\xe2\x80\xae";
      options.nvtx_suffix = "<&>\"'\x01 ::notice title=x::y";
    }
    if (word.starts_with("run=")) options.run = std::stoi(word.substr(4));
    if (word.starts_with("factor=")) options.factor = std::stod(word.substr(7));
    if (word.starts_with("grid=")) options.grid = std::stod(word.substr(5));
    if (word.starts_with("copies=")) options.copies = std::stoi(word.substr(7));
    if (word.starts_with("extra=")) options.extra_kernel = word.substr(6);
    if (word.starts_with("commit=")) options.git_commit = word.substr(7);
    if (word.starts_with("driver=")) options.driver = word.substr(7);
    if (word.starts_with("start=")) options.start_offset_s = std::stoll(word.substr(6));
    if (word.starts_with("slow=")) {
      const std::size_t colon = word.rfind(':');
      options.more_slow.emplace_back(word.substr(5, colon - 5), std::stod(word.substr(colon + 1)));
    }
  }
  try {
    ridgeline::testing::write_fabricated_capture(argv[1], options);
  } catch (const ridgeline::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
