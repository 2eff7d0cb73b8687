// lock_patience.h: how long a database waits for the lock of another process.
#pragma once

#include <chrono>

namespace ridgeline::store {

/// Of databases that are opened from now on, in this process: how long a statement waits for another's lock before it
/// fails as busy. Five seconds if nobody says otherwise; tests say otherwise.
void set_lock_patience(std::chrono::milliseconds patience);

}  // namespace ridgeline::store
