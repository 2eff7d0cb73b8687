// main.cpp: ridgeline_ceilings. Exit codes: 0 done, 2 bad argument, 4 no GPU or a call to it failed, 5 other.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "ceilings/device/measure.h"
#include "gpt2/common/cuda_check.h"

namespace {

using namespace ridgeline::ceilings;

struct Options {
  Request request;
  bool thorough = false;
  std::string output = "-";
  int declare_steps = 0;
  double load_s = 0;
  std::vector<std::string> plants;
};

void declare(CLI::App& app, Options& o) {
  app.add_option("--device", o.request.device, "CUDA's number of the GPU (default 0)")->type_name("N");
  app.add_flag("--thorough", o.thorough, "Minutes instead of a minute: pauses of a second, loads of ten");
  app.add_option("--only", o.request.only, "Roofs or levels, comma-separated: dram,compute.bf16")
      ->delimiter(',')
      ->type_name("NAMES");
  app.add_option("--seconds", o.request.seconds,
                 "Begin nothing after so many seconds (default 0: measure all)")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  app.add_option("-o,--output", o.output, "Where the figures go, as JSON (default: standard output)")
      ->type_name("FILE");
  app.add_option(
         "--declare", o.declare_steps,
         "Measure nothing: run each benchmark in N steps whose NVTX ranges declare its work, for a recording")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  app.add_option("--load", o.load_s, "Keep the GPU busy for so many seconds, and measure nothing")->group("");
  app.add_option("--plant", o.plants, "A fault for a check to find: half-operations, l2-resident")
      ->check(CLI::IsMember({"half-operations", "l2-resident"}))
      ->group("");
}

int run(Options& o) {
  for (const std::string& plant : o.plants)
    (plant == "l2-resident" ? o.request.plants.l2_resident : o.request.plants.half_operations) = true;
  o.request.plan = o.thorough ? thorough_plan() : quick_plan();
  // One line that changes; none in a pipe.
  if (isatty(STDERR_FILENO) != 0)
    o.request.tell = [](const std::string& line) { std::fprintf(stderr, "\r\033[K%s", line.c_str()); };
  if (o.load_s > 0) {
    run_load(o.request.device, o.load_s);
    return 0;
  }
  if (o.declare_steps > 0) {
    run_declared(o.request, o.declare_steps);
    return 0;
  }
  const std::string text = machine_file_text(measure(o.request));
  if (o.request.tell) o.request.tell("");
  std::FILE* file = o.output == "-" ? stdout : std::fopen(o.output.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "ridgeline_ceilings: %s cannot be written\n", o.output.c_str());
    return 2;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (written && closed) return 0;
  std::fprintf(stderr, "ridgeline_ceilings: %s: not all of it could be written\n", o.output.c_str());
  return 5;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Measures the roofs of a GPU: `ridgeline ceilings` starts this program and keeps what it finds.");
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(options);
  } catch (const ridgeline::gpt2::CudaError& error) {
    std::fprintf(stderr, "ridgeline_ceilings: %s\n", error.what());
    return 4;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "ridgeline_ceilings: %s\n", error.what());
    return 4;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridgeline_ceilings: %s\n", error.what());
    return 5;
  }
}
