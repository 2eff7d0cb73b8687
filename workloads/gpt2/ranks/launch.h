// launch.h: ranks as processes of this host, one forked for each, and their parent, which watches them.
#pragma once

#include <functional>

#include "gpt2/ranks/link.h"
#include "gpt2/ranks/place.h"
#include "gpt2/ranks/roll.h"

namespace ridgeline::gpt2 {

/// Forks `size` ranks, each of which ends with what `rank_main` returns, and waits for them. When one dies, stops,
/// falls behind or fails, prints one line on stderr that names it and the cause, ends the others (SIGTERM, two
/// seconds later SIGKILL) and returns the exit code: the failing rank's own, else kRankLostExitCode. SIGINT and
/// SIGTERM end the ranks and then this process. Ranks do not outlive their parent.
/// Call it from a process with one thread that has not used CUDA: neither survives a fork.
int run_forked_ranks(int size, const RollLimits& limits, const std::function<int(RankLink& link)>& rank_main);

}  // namespace ridgeline::gpt2
