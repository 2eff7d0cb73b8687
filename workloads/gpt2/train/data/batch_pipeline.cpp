#include "gpt2/train/data/batch_pipeline.h"

namespace ridgeline::gpt2 {

void BatchPipeline::HostFree::operator()(std::int32_t* data) const noexcept {
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(data));
}

BatchPipeline::BatchPipeline(std::unique_ptr<TokenSource> source, std::int64_t batch_tokens)
    : source_(std::move(source)),
      batch_tokens_(batch_tokens),
      slots_(kSlots),
      position_(source_->position()) {
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device_));
  for (Slot& slot : slots_) {
    void* host = nullptr;
    RIDGELINE_CUDA_CHECK(
        cudaMallocHost(&host, static_cast<std::size_t>(batch_tokens) * 2 * sizeof(std::int32_t)));
    slot.host.reset(static_cast<std::int32_t*>(host));
    slot.device = DeviceBuffer<std::int32_t>(batch_tokens * 2);
  }
  thread_ = std::thread([this] { fill(); });
}

BatchPipeline::~BatchPipeline() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// The host thread: batch n goes into slot n % kSlots, whose previous copy must have been enqueued and have
// ended.
void BatchPipeline::fill() {
  try {
    RIDGELINE_CUDA_CHECK(cudaSetDevice(device_));
    const auto tokens = static_cast<std::size_t>(batch_tokens_);
    for (std::uint64_t n = 0;; ++n) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || submitted_ + kSlots > n; });
        if (stop_) return;
      }
      Slot& slot = slots_[n % kSlots];
      if (n >= kSlots) slot.copied.synchronize();
      source_->next({slot.host.get(), tokens}, {slot.host.get() + tokens, tokens});
      slot.position = source_->position();
      {
        const std::lock_guard lock(mutex_);
        filled_ = n + 1;
      }
      changed_.notify_all();
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

DeviceBatch BatchPipeline::acquire(cudaStream_t stream) {
  const std::uint64_t n = acquired_++;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_ > n || failure_; });
    if (filled_ <= n) std::rethrow_exception(failure_);
  }
  Slot& slot = slots_[n % kSlots];
  position_ = slot.position;
  if (n >= kSlots) RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(copy_stream_.get(), slot.consumed.get(), 0));
  RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(slot.device.data(), slot.host.get(),
                                       static_cast<std::size_t>(slot.device.size_bytes()),
                                       cudaMemcpyHostToDevice, copy_stream_.get()));
  slot.copied.record(copy_stream_.get());
  RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(stream, slot.copied.get(), 0));
  {
    const std::lock_guard lock(mutex_);
    submitted_ = n + 1;
  }
  changed_.notify_all();
  return {slot.device.data(), slot.device.data() + batch_tokens_};
}

void BatchPipeline::release(cudaStream_t stream) {
  slots_[(acquired_ - 1) % kSlots].consumed.record(stream);
}

}  // namespace ridgeline::gpt2
