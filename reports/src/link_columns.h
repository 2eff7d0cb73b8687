// link_columns.h: bytes over a device's links as columns, of whatever a row is.
#pragma once

#include <array>
#include <optional>

#include "ridgeline/store/link_bytes.h"

namespace ridgeline::reports {

struct LinkColumn {
  const char* key;
  const char* header;
  const char* what;  // of the device
  std::optional<double> store::LinkBytes::*of;
};
inline constexpr std::array<LinkColumn, 4> kLinkColumns = {{
    {"nvlink_sent_bytes", "NVLink out", "sent over NVLink, data without its protocol",
     &store::LinkBytes::nvlink_sent_bytes},
    {"nvlink_received_bytes", "NVLink in", "received over NVLink, data without its protocol",
     &store::LinkBytes::nvlink_received_bytes},
    {"pcie_received_bytes", "PCIe in", "received over PCIe", &store::LinkBytes::pcie_received_bytes},
    {"pcie_sent_bytes", "PCIe out", "sent over PCIe, the samples' own records in it (some 15 kB each)",
     &store::LinkBytes::pcie_sent_bytes},
}};

}  // namespace ridgeline::reports
