/// collectives.h: what is known of launches that communicate between ranks, beside that they ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/base/collective_words.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::store {

/// A group of ranks as one process sees it.
struct Communicator {
  Id id = 0;
  Id process_id = 0;
  std::optional<std::string> hash;    ///< equal on all its ranks and on no other group's
  std::optional<std::int64_t> ranks;  ///< how many it has
  std::optional<std::int64_t> rank;   ///< of the process, in it
  std::optional<std::string> name;
};

struct Collective {
  Id launch_id = 0;
  std::optional<Id> communicator_id;
  std::optional<std::int64_t> ordinal;  ///< of the calls on the communicator since it was made
  CollectiveFunction function = CollectiveFunction::all_reduce;
  std::optional<std::int64_t> bytes;  ///< of the whole array, of all ranks together
  /// Of the function and the communicator: nvtx, plugin or program.
  CollectiveSource source = CollectiveSource::program;
  std::optional<CollectiveSource> bytes_source = {};  ///< empty: bytes are, or the capture is older
  std::optional<ElementType> element_type = {};
  std::optional<CollectiveSource> element_type_source = {};  ///< empty: the type is
  std::optional<std::int64_t> channels = {};                 ///< on which the rank sends and receives
  std::optional<CollectiveSource> channels_source = {};      ///< empty: they are
  std::optional<CollectiveAlgorithm> algorithm = {};
  std::optional<CollectiveProtocol> protocol = {};
  std::optional<CollectiveSource> algorithm_source = {};  ///< of algorithm and protocol; empty: both are
};

/// A copy between devices that is, alone or with others, a collective which the copy engines do.
struct CopiedCollective {
  Id copy_id = 0;
  Id first_copy_id = 0;  ///< of the same call: equal in all its copies
  std::optional<Id> communicator_id;
  CollectiveFunction function = CollectiveFunction::all_gather;
  std::optional<std::int64_t> bytes;  ///< of the whole array of the call, of all ranks together
  CollectiveSource source = CollectiveSource::nvtx;
  std::optional<std::int64_t> ordinal = {};  ///< as in Collective; empty before kStepsOfRanksAreKnown
};

/// By id; none before schema version kJobsAreKept. Throw Error(corrupt).
[[nodiscard]] std::vector<Communicator> communicators(const Capture& capture);
/// By launch; likewise. From the bytes' source on they are empty before kCollectiveDetailsAreKept.
[[nodiscard]] std::vector<Collective> collectives(const Capture& capture);
/// Of the launches from `first` to `last` whose bytes are known: what a ring of many ranks sends for the call, in
/// bytes: twice the array of an all-reduce, once that of others. Likewise.
[[nodiscard]] std::unordered_map<Id, std::int64_t> collective_traffic(const Capture& capture, Id first,
                                                                      Id last);
/// By copy; none before schema version kCopiedCollectivesAreKept. Throws Error(corrupt).
[[nodiscard]] std::vector<CopiedCollective> copied_collectives(const Capture& capture);

}  // namespace ridgeline::store
