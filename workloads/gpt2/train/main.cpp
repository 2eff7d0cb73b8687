// main.cpp: gpt2_train. Exit codes: 0 done, 1 diverged, 2 bad argument or file, 4 no GPU or too little
// memory, 5 other.
#include <cstdio>
#include <exception>

#include "gpt2/common/errors.h"
#include "gpt2/train/arguments/options.h"
#include "gpt2/train/loop/trainer.h"

namespace {

int fail(int code, const std::exception& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "gpt2_train: %s\n", error.what());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ridgeline::gpt2;
  try {
    Options options;
    const int code = parse_options(argc, argv, options);
    if (code >= 0) return code;
    train(options);
    return 0;
  } catch (const InputError& error) {
    return fail(2, error);
  } catch (const DivergedError& error) {
    return fail(1, error);
  } catch (const EnvironmentError& error) {
    return fail(4, error);
  } catch (const std::exception& error) {
    return fail(5, error);
  }
}
