/// collective_words.h: the words of collectives and of merged jobs. As in vocabulary.h.
#pragma once

#include "ridgeline/base/vocabulary.h"

namespace ridgeline {

/// What ranks do together. In captures.
enum class CollectiveFunction : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_receive,
};

/// What a collective's elements are. In captures.
enum class ElementType : std::uint8_t {
  fp64,
  fp32,
  fp16,
  bf16,
  fp8_e4m3,
  fp8_e5m2,
  int64,
  int32,
  int8,
  uint64,
  uint32,
  uint8,
};

/// By which way a collective's data goes. In captures; NCCL's.
enum class CollectiveAlgorithm : std::uint8_t {
  ring,
  tree,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};

/// How a step of it tells the next rank that its data is there. In captures; NCCL's.
enum class CollectiveProtocol : std::uint8_t { ll, ll128, simple };

/// Who said what a collective is. In captures.
enum class CollectiveSource : std::uint8_t {
  nvtx,     ///< payloads of the library's ranges
  plugin,   ///< the library's profiler plugin
  kernel,   ///< name and grid of its kernel
  program,  ///< whoever wrote the capture knew it
};

/// How a host's clock stands to the reference. In captures.
enum class ClockStatus : std::uint8_t {
  reference,
  aligned,
  contradicts,  ///< no offset makes every collective end after it has begun everywhere
  unknown,      ///< no collective joins it to the reference
};

template <>
struct Vocabulary<CollectiveFunction> {
  static constexpr std::string_view kName = "function of a collective";
  static constexpr Word<CollectiveFunction> kWords[] = {
      {CollectiveFunction::all_reduce, "all_reduce"},
      {CollectiveFunction::all_gather, "all_gather"},
      {CollectiveFunction::reduce_scatter, "reduce_scatter"},
      {CollectiveFunction::broadcast, "broadcast"},
      {CollectiveFunction::reduce, "reduce"},
      {CollectiveFunction::all_to_all, "all_to_all"},
      {CollectiveFunction::send_receive, "send_receive"}};
};
template <>
struct Vocabulary<ElementType> {
  static constexpr std::string_view kName = "type of an element";
  static constexpr Word<ElementType> kWords[] = {
      {ElementType::fp64, "fp64"},         {ElementType::fp32, "fp32"},
      {ElementType::fp16, "fp16"},         {ElementType::bf16, "bf16"},
      {ElementType::fp8_e4m3, "fp8_e4m3"}, {ElementType::fp8_e5m2, "fp8_e5m2"},
      {ElementType::int64, "int64"},       {ElementType::int32, "int32"},
      {ElementType::int8, "int8"},         {ElementType::uint64, "uint64"},
      {ElementType::uint32, "uint32"},     {ElementType::uint8, "uint8"}};
};
template <>
struct Vocabulary<CollectiveAlgorithm> {
  static constexpr std::string_view kName = "algorithm of a collective";
  static constexpr Word<CollectiveAlgorithm> kWords[] = {
      {CollectiveAlgorithm::ring, "ring"},
      {CollectiveAlgorithm::tree, "tree"},
      {CollectiveAlgorithm::collnet_direct, "collnet_direct"},
      {CollectiveAlgorithm::collnet_chain, "collnet_chain"},
      {CollectiveAlgorithm::nvls, "nvls"},
      {CollectiveAlgorithm::nvls_tree, "nvls_tree"},
      {CollectiveAlgorithm::pat, "pat"}};
};
template <>
struct Vocabulary<CollectiveProtocol> {
  static constexpr std::string_view kName = "protocol of a collective";
  static constexpr Word<CollectiveProtocol> kWords[] = {{CollectiveProtocol::ll, "ll"},
                                                        {CollectiveProtocol::ll128, "ll128"},
                                                        {CollectiveProtocol::simple, "simple"}};
};
template <>
struct Vocabulary<CollectiveSource> {
  static constexpr std::string_view kName = "source of a collective";
  static constexpr Word<CollectiveSource> kWords[] = {{CollectiveSource::nvtx, "nvtx"},
                                                      {CollectiveSource::plugin, "plugin"},
                                                      {CollectiveSource::kernel, "kernel"},
                                                      {CollectiveSource::program, "program"}};
};
template <>
struct Vocabulary<ClockStatus> {
  static constexpr std::string_view kName = "status of a clock";
  static constexpr Word<ClockStatus> kWords[] = {{ClockStatus::reference, "reference"},
                                                 {ClockStatus::aligned, "aligned"},
                                                 {ClockStatus::contradicts, "contradicts"},
                                                 {ClockStatus::unknown, "unknown"}};
};

}  // namespace ridgeline
