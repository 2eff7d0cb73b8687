// batch_pipeline.h: prepares batches ahead on a host thread and copies them asynchronously.
//
// Lifecycle: construct (starts the thread) -> { acquire -> enqueue the work that reads the batch -> release
// }* -> destroy (joins the thread). One consumer thread. The GPU waits for a batch only if the host is slower
// than the GPU.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/train/data/token_source.h"

namespace ridgeline::gpt2 {

struct DeviceBatch {
  const std::int32_t* inputs = nullptr;   // (B, T)
  const std::int32_t* targets = nullptr;  // (B, T), directly after the inputs
};

class BatchPipeline {
 public:
  static constexpr int kSlots = 4;

  BatchPipeline(std::unique_ptr<TokenSource> source, std::int64_t batch_tokens);
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  /// Next batch; work enqueued on `stream` from now on sees it. Rethrows what the source threw.
  DeviceBatch acquire(cudaStream_t stream);

  /// The batch last acquired may be overwritten once what `stream` holds now has run.
  void release(cudaStream_t stream);

  /// The source's position after the batch last acquired, or where it began: what a resumed run restores. The
  /// source itself is up to kSlots batches ahead.
  const std::vector<std::byte>& position() const { return position_; }

  static std::int64_t device_bytes(std::int64_t batch_tokens) {
    return batch_tokens * 2 * static_cast<std::int64_t>(sizeof(std::int32_t)) * kSlots;
  }

 private:
  struct HostFree {
    void operator()(std::int32_t* data) const noexcept;
  };
  struct Slot {
    std::unique_ptr<std::int32_t, HostFree> host;  // pinned: inputs then targets
    std::vector<std::byte> position;               // of the source after this batch
    DeviceBuffer<std::int32_t> device;
    Event copied{cudaEventDisableTiming};
    Event consumed{cudaEventDisableTiming};
  };

  void fill();

  std::unique_ptr<TokenSource> source_;
  std::int64_t batch_tokens_;
  int device_ = 0;
  std::vector<Slot> slots_;
  Stream copy_stream_;
  std::uint64_t acquired_ = 0;
  std::vector<std::byte> position_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t filled_ = 0;     // batches whose host buffer is ready
  std::uint64_t submitted_ = 0;  // batches whose copy has been enqueued
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace ridgeline::gpt2
