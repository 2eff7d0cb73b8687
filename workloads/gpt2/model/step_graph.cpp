#include "gpt2/model/step_graph.h"

namespace ridgeline::gpt2 {
namespace {

struct CapturedDeleter {
  using pointer = cudaGraph_t;
  void operator()(cudaGraph_t graph) const noexcept {
    RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaGraphDestroy(graph));
  }
};

// Whether a graph captured with one set of options does what the other asks for.
bool same_but_for_the_step(const OptimizerOptions& a, const OptimizerOptions& b) {
  return a.weight_decay == b.weight_decay && a.decay_embeddings == b.decay_embeddings && a.clip == b.clip &&
         a.adamw.beta1 == b.adamw.beta1 && a.adamw.beta2 == b.adamw.beta2 &&
         a.adamw.epsilon == b.adamw.epsilon;
}

// Ends a capture that an exception left open, so that the stream can be used again.
class CaptureScope {
 public:
  explicit CaptureScope(cudaStream_t stream) : stream_(stream) {
    // Thread-local: the loader's thread waits for its copies meanwhile.
    RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  ~CaptureScope() {
    if (!open_) return;
    cudaGraph_t graph = nullptr;
    (void)cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
  }
  std::unique_ptr<cudaGraph_t, CapturedDeleter> end() {
    open_ = false;
    cudaGraph_t graph = nullptr;
    RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
    return std::unique_ptr<cudaGraph_t, CapturedDeleter>(graph);
  }

 private:
  cudaStream_t stream_;
  bool open_ = true;
};

}  // namespace

void StepGraph::HostFree::operator()(AdamwStepFactors* data) const noexcept {
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(data));
}

void StepGraph::GraphDeleter::operator()(cudaGraphExec_t graph) const noexcept {
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaGraphExecDestroy(graph));
}

StepGraph::StepGraph(GpuModel& model, std::int64_t batch_tokens, int grad_accum)
    : model_(model),
      batch_tokens_(batch_tokens),
      grad_accum_(grad_accum),
      tokens_(2 * batch_tokens * grad_accum),
      factors_(1),
      copied_{Event(cudaEventDisableTiming), Event(cudaEventDisableTiming), Event(cudaEventDisableTiming),
              Event(cudaEventDisableTiming)} {
  void* host = nullptr;
  RIDGELINE_CUDA_CHECK(cudaMallocHost(&host, sizeof(AdamwStepFactors) * kSlots));
  host_factors_.reset(static_cast<AdamwStepFactors*>(host));
}

void StepGraph::enqueue(const OptimizerOptions& options) {
  for (int micro = 0; micro < grad_accum_; ++micro) {
    model_.micro_step(tokens(micro), tokens(micro) + batch_tokens_, micro);
  }
  OptimizerOptions from_device = options;
  from_device.step_factors = factors_.data();
  model_.optimizer_step(from_device);
}

void StepGraph::capture(const OptimizerOptions& options) {
  CaptureScope scope(model_.stream());
  enqueue(options);
  const auto graph = scope.end();
  cudaGraphExec_t executable = nullptr;
  RIDGELINE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph.get(), 0));
  graph_.reset(executable);
  RIDGELINE_CUDA_CHECK(cudaGraphGetNodes(graph.get(), nullptr, &node_count_));
  captured_ = options;
}

// The copy is enqueued before the step that reads it, and the slot is used again only when it has been made.
void StepGraph::upload_factors(const AdamwConfig& config) {
  const std::size_t slot = uploads_ % kSlots;
  if (uploads_ >= kSlots) copied_[slot].synchronize();
  AdamwStepFactors* host = host_factors_.get() + slot;
  *host = adamw_step_factors(config);
  RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(factors_.data(), host, sizeof(AdamwStepFactors),
                                       cudaMemcpyHostToDevice, model_.stream()));
  copied_[slot].record(model_.stream());
  ++uploads_;
}

void StepGraph::step(const OptimizerOptions& options) {
  upload_factors(options.adamw);
  if (!plans_built_) {
    enqueue(options);
    plans_built_ = true;
    return;
  }
  if (!graph_ || !same_but_for_the_step(options, captured_)) capture(options);
  RIDGELINE_CUDA_CHECK(cudaGraphLaunch(graph_.get(), model_.stream()));
}

}  // namespace ridgeline::gpt2
