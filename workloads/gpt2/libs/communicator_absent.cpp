// A build without NCCL's header: several ranks are refused, one GPU is all that this program uses.
#include <stdexcept>

#include "gpt2/common/errors.h"
#include "gpt2/libs/communicator.h"

namespace ridgeline::gpt2 {
namespace {

[[noreturn]] void never() {
  throw std::logic_error("a communicator in a build without NCCL");
}

}  // namespace

struct Communicator::Implementation {};

std::string load_nccl(const NcclOptions&) {
  throw InputError(
      "several ranks need NCCL, and this program was built without: install libnccl-dev and build again");
}

CommunicatorId Communicator::make_id() {
  never();
}
Communicator::Communicator(int rank, int size, const CommunicatorId&, const NcclOptions&)
    : rank_(rank), size_(size) {
  never();
}
Communicator::~Communicator() = default;
void Communicator::all_reduce_sum(float*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::all_reduce_sum(bf16*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::all_reduce_sum(double*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::all_reduce_max(float*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::reduce_scatter_sum(float*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::reduce_scatter_sum(bf16*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::all_gather(void*, std::int64_t, cudaStream_t) {
  never();
}
void Communicator::broadcast(void*, std::int64_t, int, cudaStream_t) {
  never();
}
void Communicator::send(const void*, std::int64_t, int, cudaStream_t) {
  never();
}
void Communicator::receive(void*, std::int64_t, int, cudaStream_t) {
  never();
}
void Communicator::begin_group() {
  never();
}
void Communicator::end_group() {
  never();
}
std::string Communicator::async_error() const noexcept {
  return {};
}

}  // namespace ridgeline::gpt2
