// energy.h: what the GPU's own counter says that a run has used.
#pragma once

#include <optional>

namespace ridgeline::gpt2 {

/// Energy of the current CUDA device since its driver was loaded, in joules: the card's counter in millijoules,
/// which NVML reads and the card brings up to date some ten times a second. Over ten seconds and more a
/// difference is good to 1 %.
class EnergyCounter {
 public:
  /// Of the calling thread's current device. Without NVML, or on a card without the counter, read() is empty.
  EnergyCounter();
  ~EnergyCounter();
  EnergyCounter(const EnergyCounter&) = delete;
  EnergyCounter& operator=(const EnergyCounter&) = delete;

  [[nodiscard]] std::optional<double> read_joules() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;  // nvmlDevice_t
  int (*energy_)(void*, unsigned long long*) = nullptr;
  int (*shutdown_)() = nullptr;
};

}  // namespace ridgeline::gpt2
