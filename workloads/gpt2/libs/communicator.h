// communicator.h: NCCL's collectives between the ranks of a job. The library is loaded when the first communicator is
// made: a program that trains on one GPU needs none.
//
// Lifecycle: load_nccl -> rank 0 makes an id, which the others get -> construct in all ranks, each on its own device ->
// the same calls in the same order in all ranks -> destroy in all. Calls only enqueue, and can be captured into a CUDA
// graph after the first step has run outside of one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "gpt2/common/dtype.h"
#include "gpt2/ranks/message.h"

namespace ridgeline::gpt2 {

struct NcclOptions {
  std::string library;  // path; empty: libnccl.so.2 as the loader finds it
  int ctas = 0;         // blocks of a collective's kernel; 0: NCCL's choice
  /// One algorithm, protocol and number of blocks, so that equal runs add in the same order. Leaves NCCL_ALGO and
  /// NCCL_PROTO as they are where they are set.
  bool deterministic = false;
};

/// Loads the library, once. NVLink multicast (NVLS) is off unless NCCL_NVLS_ENABLE is set: its sums depend on where
/// buffers lie. Returns its version, "2.28.9". Throws InputError: it is not found, too old, or this build was made
/// without its header.
std::string load_nccl(const NcclOptions& options);

class Communicator {
 public:
  static CommunicatorId make_id();

  /// On the current device. Waits for all ranks. Throws LibraryError.
  Communicator(int rank, int size, const CommunicatorId& id, const NcclOptions& options);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// Waits for work that is enqueued in it.
  ~Communicator();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// In place on device memory: the sum over all ranks, the same bits in each.
  void all_reduce_sum(float* data, std::int64_t count, cudaStream_t stream);
  void all_reduce_sum(bf16* data, std::int64_t count, cudaStream_t stream);
  void all_reduce_sum(double* data, std::int64_t count, cudaStream_t stream);
  void all_reduce_max(float* data, std::int64_t count, cudaStream_t stream);

  /// In place: of `data`, which holds size() parts of `count` each, part rank() becomes the sum over all ranks.
  void reduce_scatter_sum(float* data, std::int64_t count, cudaStream_t stream);
  void reduce_scatter_sum(bf16* data, std::int64_t count, cudaStream_t stream);
  /// In place: each rank's part rank() of `bytes` each goes to all others.
  void all_gather(void* data, std::int64_t bytes, cudaStream_t stream);
  /// In place: rank `from`'s bytes go to all others.
  void broadcast(void* data, std::int64_t bytes, int from, cudaStream_t stream);
  /// The one rank calls the first, the other the second.
  void send(const void* data, std::int64_t bytes, int to, cudaStream_t stream);
  void receive(void* data, std::int64_t bytes, int from, cudaStream_t stream);

  /// Calls between the two become one launch.
  void begin_group();
  void end_group();

  /// What NCCL has noticed by itself: empty, or its words for an error. Any thread.
  std::string async_error() const noexcept;

 private:
  struct Implementation;
  int rank_;
  int size_;
  std::unique_ptr<Implementation> nccl_;
};

}  // namespace ridgeline::gpt2
