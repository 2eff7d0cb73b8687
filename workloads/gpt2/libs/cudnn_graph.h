// cudnn_graph.h: cuDNN's backend graph API (cudnn_backend.h) with ownership and errors; only what attention
// needs.
//
// Lifecycle:
//   1. CudnnGraph: declare tensors, each gets a number (cuDNN's unique id), and operations between them
//   2. build(): asks the heuristics for engine configurations, finalises the first plan that cuDNN accepts
//   3. CudnnPlan::execute with a pointer for every number that is not virtual
// Every refusal throws LibraryError, which holds the call, cuDNN's status and its last message.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline::gpt2 {

/// Throws LibraryError unless status is success; call names what was tried.
void cudnn_check(cudnnStatus_t status, const char* call, const char* file, int line);

/// One backend descriptor, owned.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void finalize();
  /// Status instead of an exception, for plans that an engine may refuse.
  [[nodiscard]] cudnnStatus_t try_finalize() noexcept;
  std::int64_t get_int64(cudnnBackendAttributeName_t name) const;

  cudnnBackendDescriptor_t raw() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

/// An execution plan and everything it refers to.
class CudnnPlan {
 public:
  using Binding =
      std::pair<std::int64_t, const void*>;  // tensor number, device pointer (host pointer for a scalar)

  void execute(cudnnHandle_t handle, const std::vector<Binding>& bindings, void* workspace) const;
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  int engine_configurations() const { return engine_configurations_; }  // offered by the heuristics

 private:
  friend class CudnnGraph;
  std::vector<CudnnDescriptor> keep_;
  CudnnDescriptor plan_;
  std::size_t workspace_bytes_ = 0;
  int engine_configurations_ = 0;
};

class CudnnGraph {
 public:
  using Dims = std::vector<std::int64_t>;

  /// For the device of handle.
  explicit CudnnGraph(cudnnHandle_t handle) : handle_(handle) {}
  /// For a device that is described (cuDNN's JSON form of device properties) rather than present: plans can be
  /// built, not executed.
  explicit CudnnGraph(const std::string& device_properties_json);

  std::int64_t tensor(cudnnDataType_t type, Dims dims, Dims strides);
  std::int64_t scalar(cudnnDataType_t type, std::size_t rank);
  /// Lives between operations only; strides are those of a dense row-major tensor unless given.
  std::int64_t virtual_tensor(cudnnDataType_t type, Dims dims, Dims strides = {});

  std::int64_t matmul(std::int64_t a, std::int64_t b, std::int64_t out);
  std::int64_t pointwise(cudnnPointwiseMode_t mode, std::int64_t x, std::int64_t out);
  std::int64_t pointwise(cudnnPointwiseMode_t mode, std::int64_t x, std::int64_t b, std::int64_t out,
                         cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  std::int64_t index(std::int64_t like, std::int64_t axis, std::int64_t out);
  std::int64_t select(std::int64_t if_true, std::int64_t if_false, std::int64_t predicate, std::int64_t out);
  std::int64_t reduce(cudnnReduceTensorOp_t op, std::int64_t x, std::int64_t out);
  std::int64_t reshape(std::int64_t x, std::int64_t out);

  /// what names the graph in errors.
  CudnnPlan build(const char* what);

 private:
  std::int64_t add_tensor(cudnnDataType_t type, const Dims& dims, const Dims& strides, bool is_virtual,
                          bool by_value);
  std::int64_t add_pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, std::int64_t axis,
                             std::int64_t x, std::int64_t b, std::int64_t predicate, std::int64_t out);
  const CudnnDescriptor& tensor_at(std::int64_t number) const;

  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor device_properties_;
  std::vector<CudnnDescriptor> tensors_;  // number n at index n - 1
  std::vector<CudnnDescriptor> helpers_;
  std::vector<CudnnDescriptor> operations_;
};

}  // namespace ridgeline::gpt2

#define RIDGELINE_CUDNN_CHECK(call) ::ridgeline::gpt2::cudnn_check((call), #call, __FILE__, __LINE__)
