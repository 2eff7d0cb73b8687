// Prints of a capture how many kernels its ranking has and their time.
#include <cstdio>
#include <exception>

#include "ridgeline/analyzer/session/session.h"

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  ridgeline::analyzer::Session session = ridgeline::analyzer::Session::open(argv[1]).value();
  const auto ranking = session.ranking().value();
  std::printf("%zu kernels, %lld ns\n", ranking->rows.size(),
              static_cast<long long>(ranking->totals.time_ns));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
