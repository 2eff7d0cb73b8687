// main.cpp: gpt2_train. Exit codes: 0 done, 1 diverged, 2 bad argument or file, 4 no GPU or too little
// memory, 5 other, 6 a rank died, stopped or fell behind.
#include <cstdio>
#include <exception>

#include "gpt2/train/arguments/options.h"
#include "gpt2/train/loop/failure.h"
#include "gpt2/train/loop/job.h"

int main(int argc, char** argv) {
  using namespace ridgeline::gpt2;
  try {
    Options options;
    const int code = parse_options(argc, argv, options);
    if (code >= 0) return code;
    return run_job(options);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    (void)std::fflush(stdout);
    std::fprintf(stderr, "gpt2_train: %s\n", failure.text.c_str());
    return failure.exit_code;
  }
}
