// The process-wide session: made on demand, replaced in a forked child.
#pragma once

#include "session/session.h"

namespace ridgeline::agent {

/// The session of this process, made at the first call; null if the agent sleeps (no spool directory, no
/// room, or a forked child that has not started CUDA itself).
Session* current_session() noexcept;

}  // namespace ridgeline::agent
