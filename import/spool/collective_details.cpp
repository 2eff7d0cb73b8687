#include "spool/collective_details.h"

#include <string_view>
#include <utility>

#include "spool/nccl_calls.h"

namespace ridgeline::import {

namespace {

constexpr std::int64_t kMaxChannels = 1024;

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"ncclInt8", ElementType::int8},           {"ncclUint8", ElementType::uint8},
    {"ncclInt32", ElementType::int32},         {"ncclUint32", ElementType::uint32},
    {"ncclInt64", ElementType::int64},         {"ncclUint64", ElementType::uint64},
    {"ncclFloat16", ElementType::fp16},        {"ncclFloat32", ElementType::fp32},
    {"ncclFloat64", ElementType::fp64},        {"ncclBfloat16", ElementType::bf16},
    {"ncclFloat8e4m3", ElementType::fp8_e4m3}, {"ncclFloat8e5m2", ElementType::fp8_e5m2}};
constexpr std::pair<std::string_view, CollectiveAlgorithm> kAlgorithms[] = {
    {"RING", CollectiveAlgorithm::ring},
    {"TREE", CollectiveAlgorithm::tree},
    {"COLLNET_DIRECT", CollectiveAlgorithm::collnet_direct},
    {"COLLNET_CHAIN", CollectiveAlgorithm::collnet_chain},
    {"NVLS", CollectiveAlgorithm::nvls},
    {"NVLS_TREE", CollectiveAlgorithm::nvls_tree},
    {"PAT", CollectiveAlgorithm::pat}};
constexpr std::pair<std::string_view, CollectiveProtocol> kProtocols[] = {
    {"LL", CollectiveProtocol::ll},
    {"LL128", CollectiveProtocol::ll128},
    {"SIMPLE", CollectiveProtocol::simple}};

// Words of a newer NCCL say nothing to this program.
template <typename E, std::size_t n>
std::optional<E> meaning(const std::pair<std::string_view, E> (&words)[n], std::string_view text) {
  for (const auto& [word, value] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

template <typename T>
void keep_if_same(std::optional<T>& value, const std::optional<T>& other) {
  if (value != other) value.reset();
}

}  // namespace

void CollectiveDetail::keep_what_agrees(const CollectiveDetail& other) {
  keep_if_same(function, other.function);
  keep_if_same(group, other.group);
  keep_if_same(message_bytes, other.message_bytes);
  keep_if_same(element_type, other.element_type);
  keep_if_same(algorithm, other.algorithm);
  keep_if_same(protocol, other.protocol);
  keep_if_same(channels, other.channels);
}

void CollectiveDetails::add(const spool::CollectiveDetailRecord& record) {
  CollectiveDetail detail;
  for (const NcclFunction& function : kNcclFunctions) {
    if (function.name.substr(kNcclPrefix.size()) == reader_.string_or(record.function, ""))
      detail.function = function.function;
  }
  if (record.communicator != 0) detail.group = record.communicator;
  if (record.message_bytes > 0 && record.message_bytes <= kMaxMessageBytes)
    detail.message_bytes = static_cast<std::int64_t>(record.message_bytes);
  detail.element_type = meaning(kTypes, reader_.string_or(record.element_type, ""));
  detail.algorithm = meaning(kAlgorithms, reader_.string_or(record.algorithm, ""));
  detail.protocol = meaning(kProtocols, reader_.string_or(record.protocol, ""));
  if (record.channels > 0 && record.channels <= kMaxChannels) detail.channels = record.channels;
  if (record.correlation_id == 0) {
    const auto at = by_call_.try_emplace(record.call_range_id, detail);
    if (!at.second) at.first->second.keep_what_agrees(detail);
    return;
  }
  const auto at = by_launch_.try_emplace(record.correlation_id, detail);
  if (at.second) return;
  CollectiveDetail& all = at.first->second;
  std::optional<std::int64_t> sum;
  const bool alike = all.function && all.function == detail.function && all.group == detail.group;
  if (alike && all.message_bytes && detail.message_bytes &&
      *all.message_bytes + *detail.message_bytes <= static_cast<std::int64_t>(kMaxMessageBytes))
    sum = *all.message_bytes + *detail.message_bytes;
  all.keep_what_agrees(detail);
  all.message_bytes = sum;
}

const CollectiveDetail* CollectiveDetails::of_launch(std::uint32_t correlation_id) const {
  const auto found = by_launch_.find(correlation_id);
  return found == by_launch_.end() ? nullptr : &found->second;
}

const CollectiveDetail* CollectiveDetails::of_call(std::uint64_t range_id) const {
  const auto found = by_call_.find(range_id);
  return found == by_call_.end() ? nullptr : &found->second;
}

}  // namespace ridgeline::import
