// cuda_raii.h: one move-only owner for each kind of CUDA handle the trainer holds.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpt2/common/cuda_check.h"

namespace ridgeline::gpt2 {

/// Device memory for `size()` elements, from plain cudaMalloc; contents undefined until written.
/// Element type must be trivially copyable. Not thread-safe; freed on destruction (which synchronises).
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t size) : size_(size) {
    if (size > 0) {
      RIDGELINE_CUDA_CHECK(
          cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<std::size_t>(size) * sizeof(T)));
    }
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~DeviceBuffer() { release(); }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  /// Number of elements.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t size_bytes() const noexcept {
    return size_ * static_cast<std::int64_t>(sizeof(T));
  }

  /// Copies `host` (at most size() elements) in and waits for it.
  void upload(const std::vector<T>& host) { upload(host.data(), static_cast<std::int64_t>(host.size())); }
  void upload(const T* host, std::int64_t count) {
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(data_, host, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyHostToDevice));
    // From pageable memory cudaMemcpy may return before the data is on the device, and a non-blocking stream
    // does not wait for the default stream.
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }
  /// All elements, on the host; waits for work already queued on the default stream only: synchronise the
  /// producing stream first.
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> host(static_cast<std::size_t>(size_));
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(host.data(), data_, static_cast<std::size_t>(size_) * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  void release() noexcept {
    if (data_ != nullptr) RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFree(data_));
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

struct StreamDeleter {
  using pointer = cudaStream_t;
  void operator()(cudaStream_t stream) const noexcept {
    RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaStreamDestroy(stream));
  }
};

/// A non-blocking stream (it does not synchronise with the legacy default stream).
class Stream {
 public:
  Stream() {
    cudaStream_t stream = nullptr;
    RIDGELINE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
  }
  /// One whose kernels get the multiprocessors that become free first.
  static Stream of_highest_priority() {
    int least = 0;
    int greatest = 0;
    RIDGELINE_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t stream = nullptr;
    RIDGELINE_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    return Stream(stream);
  }
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_.get(); }
  void synchronize() const { RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_.get())); }

 private:
  explicit Stream(cudaStream_t stream) noexcept : stream_(stream) {}

  std::unique_ptr<cudaStream_t, StreamDeleter> stream_;
};

struct EventDeleter {
  using pointer = cudaEvent_t;
  void operator()(cudaEvent_t event) const noexcept {
    RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaEventDestroy(event));
  }
};

/// An event with timing unless asked otherwise.
class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    cudaEvent_t event = nullptr;
    RIDGELINE_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
    event_.reset(event);
  }
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_.get(); }
  void record(cudaStream_t stream) { RIDGELINE_CUDA_CHECK(cudaEventRecord(event_.get(), stream)); }
  void synchronize() const { RIDGELINE_CUDA_CHECK(cudaEventSynchronize(event_.get())); }
  /// Milliseconds from `start` to this event; both must have completed. Resolution about 0.5 us.
  [[nodiscard]] float elapsed_ms_since(const Event& start) const {
    float elapsed_ms = 0.0F;
    RIDGELINE_CUDA_CHECK(cudaEventElapsedTime(&elapsed_ms, start.get(), event_.get()));
    return elapsed_ms;
  }

 private:
  std::unique_ptr<cudaEvent_t, EventDeleter> event_;
};

}  // namespace ridgeline::gpt2
