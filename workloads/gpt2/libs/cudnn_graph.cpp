#include "gpt2/libs/cudnn_graph.h"

#include <array>

#include "gpt2/libs/library_error.h"

namespace ridgeline::gpt2 {

void cudnn_check(cudnnStatus_t status, const char* call, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> message{};
  cudnnGetLastErrorString(message.data(), message.size());
  std::string what = cudnnGetErrorString(status);
  if (message[0] != '\0') what += std::string(" (") + message.data() + ")";
  throw LibraryError(call, what, file, line);
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  RIDGELINE_CUDNN_CHECK(cudnnBackendCreateDescriptor(type, &raw_));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  return *this;
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::int64_t count, const void* values) {
  RIDGELINE_CUDNN_CHECK(cudnnBackendSetAttribute(raw_, name, type, count, values));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
  cudnnBackendDescriptor_t raw = other.raw();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void CudnnDescriptor::finalize() {
  RIDGELINE_CUDNN_CHECK(cudnnBackendFinalize(raw_));
}

cudnnStatus_t CudnnDescriptor::try_finalize() noexcept {
  return cudnnBackendFinalize(raw_);
}

std::int64_t CudnnDescriptor::get_int64(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  RIDGELINE_CUDNN_CHECK(cudnnBackendGetAttribute(raw_, name, CUDNN_TYPE_INT64, 1, &count, &value));
  return value;
}

void CudnnPlan::execute(cudnnHandle_t handle, const std::vector<Binding>& bindings, void* workspace) const {
  std::vector<std::int64_t> numbers;
  std::vector<const void*> pointers;
  numbers.reserve(bindings.size());
  pointers.reserve(bindings.size());
  for (const Binding& binding : bindings) {
    numbers.push_back(binding.first);
    pointers.push_back(binding.second);
  }
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto count = static_cast<std::int64_t>(numbers.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, numbers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  RIDGELINE_CUDNN_CHECK(cudnnBackendExecute(handle, plan_.raw(), pack.raw()));
}

CudnnGraph::CudnnGraph(const std::string& device_properties_json)
    : device_properties_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  device_properties_.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                         static_cast<std::int64_t>(device_properties_json.size()),
                         device_properties_json.data());
  device_properties_.finalize();
}

const CudnnDescriptor& CudnnGraph::tensor_at(std::int64_t number) const {
  return tensors_.at(static_cast<std::size_t>(number - 1));
}

std::int64_t CudnnGraph::add_tensor(cudnnDataType_t type, const Dims& dims, const Dims& strides,
                                    bool is_virtual, bool by_value) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto number = static_cast<std::int64_t>(tensors_.size()) + 1;
  const std::int64_t alignment_bytes = 16;
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, static_cast<std::int64_t>(dims.size()),
             dims.data());
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, static_cast<std::int64_t>(strides.size()),
             strides.data());
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment_bytes);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  tensor.finalize();
  tensors_.push_back(std::move(tensor));
  return number;
}

std::int64_t CudnnGraph::tensor(cudnnDataType_t type, Dims dims, Dims strides) {
  return add_tensor(type, dims, strides, false, false);
}

std::int64_t CudnnGraph::scalar(cudnnDataType_t type, std::size_t rank) {
  const Dims ones(rank, 1);
  return add_tensor(type, ones, ones, false, true);
}

std::int64_t CudnnGraph::virtual_tensor(cudnnDataType_t type, Dims dims, Dims strides) {
  if (strides.empty()) {
    strides.assign(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  }
  return add_tensor(type, dims, strides, true, false);
}

std::int64_t CudnnGraph::matmul(std::int64_t a, std::int64_t b, std::int64_t out) {
  CudnnDescriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  how.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor_at(a));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor_at(b));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor_at(out));
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  operation.finalize();
  helpers_.push_back(std::move(how));
  operations_.push_back(std::move(operation));
  return out;
}

std::int64_t CudnnGraph::add_pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t compute, std::int64_t axis,
                                       std::int64_t x, std::int64_t b, std::int64_t predicate,
                                       std::int64_t out) {
  CudnnDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  if (mode == CUDNN_POINTWISE_GEN_INDEX) how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
  how.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor_at(x));
  if (b > 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor_at(b));
  if (predicate > 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor_at(predicate));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor_at(out));
  operation.finalize();
  helpers_.push_back(std::move(how));
  operations_.push_back(std::move(operation));
  return out;
}

std::int64_t CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::int64_t x, std::int64_t out) {
  return add_pointwise(mode, CUDNN_DATA_FLOAT, 0, x, 0, 0, out);
}

std::int64_t CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::int64_t x, std::int64_t b,
                                   std::int64_t out, cudnnDataType_t compute) {
  return add_pointwise(mode, compute, 0, x, b, 0, out);
}

std::int64_t CudnnGraph::index(std::int64_t like, std::int64_t axis, std::int64_t out) {
  return add_pointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, like, 0, 0, out);
}

std::int64_t CudnnGraph::select(std::int64_t if_true, std::int64_t if_false, std::int64_t predicate,
                                std::int64_t out) {
  return add_pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, 0, if_true, if_false, predicate, out);
}

std::int64_t CudnnGraph::reduce(cudnnReduceTensorOp_t op, std::int64_t x, std::int64_t out) {
  CudnnDescriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
  how.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor_at(x));
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor_at(out));
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  operation.finalize();
  helpers_.push_back(std::move(how));
  operations_.push_back(std::move(operation));
  return out;
}

std::int64_t CudnnGraph::reshape(std::int64_t x, std::int64_t out) {
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor_at(x));
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor_at(out));
  operation.finalize();
  operations_.push_back(std::move(operation));
  return out;
}

CudnnPlan CudnnGraph::build(const char* what) {
  std::vector<cudnnBackendDescriptor_t> raw_operations;
  for (const CudnnDescriptor& operation : operations_) raw_operations.push_back(operation.raw());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<std::int64_t>(raw_operations.size()), raw_operations.data());
  if (handle_ != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
  graph.finalize();

  CudnnPlan result;
  std::string refusal = "the heuristics offer no engine";
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (device_properties_) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device_properties_);
    if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) continue;
    std::int64_t offered = 0;
    RIDGELINE_CUDNN_CHECK(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &offered, nullptr));
    std::vector<CudnnDescriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < offered; ++i) {
      configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      raw.push_back(configurations.back().raw());
    }
    std::int64_t filled = 0;
    if (offered > 0) {
      RIDGELINE_CUDNN_CHECK(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, offered, &filled,
                                                     raw.data()));
    }
    for (std::int64_t i = 0; i < filled; ++i) {
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[static_cast<std::size_t>(i)]);
      if (handle_ != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_);
      if (device_properties_) plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device_properties_);
      const cudnnStatus_t status = plan.try_finalize();
      if (status != CUDNN_STATUS_SUCCESS) {
        std::array<char, 1024> message{};
        cudnnGetLastErrorString(message.data(), message.size());
        refusal = std::string(cudnnGetErrorString(status)) + " (" + message.data() + ")";
        continue;
      }
      result.workspace_bytes_ =
          static_cast<std::size_t>(plan.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
      result.engine_configurations_ = static_cast<int>(filled);
      result.plan_ = std::move(plan);
      result.keep_.push_back(std::move(configurations[static_cast<std::size_t>(i)]));
      result.keep_.push_back(std::move(heuristics));
      result.keep_.push_back(std::move(graph));
      for (auto* group : {&operations_, &helpers_, &tensors_}) {
        for (CudnnDescriptor& descriptor : *group) result.keep_.push_back(std::move(descriptor));
        group->clear();
      }
      result.keep_.push_back(std::move(device_properties_));
      return result;
    }
  }
  throw LibraryError(std::string("cuDNN plan of ") + what, refusal, __FILE__, __LINE__);
}

}  // namespace ridgeline::gpt2
