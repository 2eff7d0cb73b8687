// collective_details.h: what NCCL's profiler plugin said of collectives, by launch and by call.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ridgeline/base/collective_words.h"
#include "ridgeline/spool/reader.h"

namespace ridgeline::import {

/// Of one collective, or what several agree on. Empty: not known, or they differ.
struct CollectiveDetail {
  std::optional<CollectiveFunction> function;
  std::optional<std::uint64_t> group;         // hash of its communicator
  std::optional<std::int64_t> message_bytes;  // of one rank
  std::optional<ElementType> element_type;
  std::optional<CollectiveAlgorithm> algorithm;
  std::optional<CollectiveProtocol> protocol;
  std::optional<std::int64_t> channels;

  void keep_what_agrees(const CollectiveDetail& other);
};

class CollectiveDetails {
 public:
  /// Keeps a reference.
  explicit CollectiveDetails(const spool::Reader& reader) : reader_(reader) {}

  void add(const spool::CollectiveDetailRecord& record);
  [[nodiscard]] bool empty() const { return by_launch_.empty() && by_call_.empty(); }
  /// Of all collectives that a launch does, by its correlation id: bytes are of them together. Null: none was said.
  [[nodiscard]] const CollectiveDetail* of_launch(std::uint32_t correlation_id) const;
  /// Of a call whose launch is not known, by its range; likewise.
  [[nodiscard]] const CollectiveDetail* of_call(std::uint64_t range_id) const;

 private:
  const spool::Reader& reader_;
  std::unordered_map<std::uint32_t, CollectiveDetail> by_launch_;
  std::unordered_map<std::uint64_t, CollectiveDetail> by_call_;
};

}  // namespace ridgeline::import
