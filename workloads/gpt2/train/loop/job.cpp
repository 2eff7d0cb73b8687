#include "gpt2/train/loop/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "gpt2/common/errors.h"
#include "gpt2/ranks/launch.h"
#include "gpt2/ranks/link.h"
#include "gpt2/ranks/place.h"
#include "gpt2/train/loop/failure.h"
#include "gpt2/train/loop/trainer.h"

namespace ridgeline::gpt2 {
namespace {

RollLimits limits_of(const RankOptions& options) {
  RollLimits limits;
  limits.late_s = options.timeout_s;
  limits.silent_s = options.timeout_s * 5 / 8;
  limits.stalled_s = std::max(limits.stalled_s, options.timeout_s);
  return limits;
}

int run_rank(const Options& options, RankLink& link) {
  try {
    train_rank(options, link);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    link.fail(failure.exit_code, failure.text);
  }
  link.leave();
  return 0;
}

}  // namespace

int run_job(const Options& options) {
  const auto place =
      place_from_environment([](const char* name) -> const char* { return std::getenv(name); });
  const bool launched = place && place->size > 1;
  const RollLimits limits = limits_of(options.ranks);
  if (options.ranks.count > 0) {
    if (launched) {
      throw InputError(
          fmt::format("--ranks {}: this process is already rank {} of {} by {}: leave --ranks out",
                      options.ranks.count, place->rank, place->size, place->launcher));
    }
    check_run(options, options.ranks.count);  // once, before there are several who would say the same
    return run_forked_ranks(options.ranks.count, limits,
                            [&](RankLink& link) { return run_rank(options, link); });
  }
  if (!launched) {
    if (options.ranks.zero > 0)
      throw InputError(
          fmt::format("--zero {} needs --ranks N, or ranks that a launcher has started", options.ranks.zero));
    train(options);
    return 0;
  }
  check_run(options, place->size);
  RankLink link(*place, limits);
  return run_rank(options, link);
}

}  // namespace ridgeline::gpt2
