/// link_bytes.h: bytes that a device moved over its links while something ran.
#pragma once

#include <optional>

namespace ridgeline::store {

/// From samples of the device (T1). What was not sampled is empty.
struct LinkBytes {
  std::optional<double> nvlink_sent_bytes;
  std::optional<double> nvlink_received_bytes;
  std::optional<double> pcie_received_bytes;
  std::optional<double> pcie_sent_bytes;
  friend bool operator==(const LinkBytes&, const LinkBytes&) = default;
};

}  // namespace ridgeline::store
