// link_traffic.h: bytes that a device moved over NVLink and PCIe while something ran, from its periodic samples (T1).
// They are the device's, of no kernel: whatever else ran meanwhile is in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/link_bytes.h"

namespace ridgeline::analyzer {

using store::LinkBytes;

struct LinkMetric {
  std::string_view metric;  ///< as it is sampled
  std::optional<double> LinkBytes::*field;
};
inline constexpr std::array<LinkMetric, 4> kLinkMetrics = {{
    {"nvltx__bytes_data_user.sum", &LinkBytes::nvlink_sent_bytes},
    {"nvlrx__bytes_data_user.sum", &LinkBytes::nvlink_received_bytes},
    {"pcie__read_bytes.sum", &LinkBytes::pcie_received_bytes},
    {"pcie__write_bytes.sum", &LinkBytes::pcie_sent_bytes},
}};

/// Adds up; what either has not stays as the other has it.
void add_link_bytes(LinkBytes& sum, const LinkBytes& more);

/// Of `count` that were added up.
[[nodiscard]] LinkBytes mean_link_bytes(const LinkBytes& sum, std::int64_t count);

/// The samples of one device.
class LinkSamples {
 public:
  /// `metric`: place in kLinkMetrics; `samples` by time: each holds the bytes since the one before.
  void add(std::size_t metric, const std::vector<store::PmSample>& samples);
  [[nodiscard]] bool empty() const;
  /// Usual time from one sample to the next; 0 without any.
  [[nodiscard]] std::int64_t interval_ns() const { return interval_ns_; }
  /// Of samples that reach over an end their share of its time. What samples do not cover, but for a
  /// fiftieth, is empty.
  [[nodiscard]] LinkBytes during(std::int64_t start_ns, std::int64_t end_ns) const;

 private:
  /// Samples that follow each other without a gap: bytes since its beginning at each time.
  struct Stretch {
    std::vector<std::int64_t> time_ns;
    std::vector<double> bytes;
    [[nodiscard]] double until(std::int64_t at_ns) const;
  };
  std::array<std::vector<Stretch>, kLinkMetrics.size()> stretches_;
  std::int64_t interval_ns_ = 0;
};

/// Of a device of a capture; empty where its links were not sampled.
[[nodiscard]] LinkSamples read_link_samples(const store::Capture& capture, store::Id device_id);

}  // namespace ridgeline::analyzer
