// peak.h: a roof in numbers, always with its source.
#pragma once

#include <string>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

struct Peak {
  Quantity quantity = Quantity::dram_bytes_per_s;
  double value = 0;  // in the quantity's unit
  PeakSource source = PeakSource::spec;
  bool fallback = false;    // the policy's source was not there
  std::string detail;       // what the source is: "NVIDIA H200 datasheet"; "" if it says nothing
  double spread_ratio = 0;  // of a measured roof: how far its rounds were apart
};

}  // namespace ridgeline::analyzer
