#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>

#include "gpt2/common/errors.h"
#include "gpt2/libs/communicator.h"
#include "gpt2/libs/library_error.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kOldestNccl = 21805;  // 2.18.5: limits the blocks of a communicator, in graphs too
constexpr int kDeterministicCtas = 16;
constexpr const char* kLibrary = "libnccl.so.2";

struct NcclCalls {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) init;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
};

NcclCalls calls{};

template <typename Function>
void resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    throw InputError(fmt::format("NCCL: the library lacks {}: take version 2.18.5 or later", name));
}

void check(ncclResult_t result, const char* call, const char* file, int line) {
  if (result == ncclSuccess) return;
  const char* more = calls.last_error(nullptr);
  std::string reason = calls.error_string(result);
  if (more != nullptr && *more != '\0') {
    reason += ": ";
    reason += more;
  }
  for (char& c : reason) {
    if (c == '\n') c = ' ';
  }
  throw LibraryError(call, reason, file, line);
}

std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace

#define RIDGELINE_NCCL_CHECK(call) check((call), #call, __FILE__, __LINE__)

struct Communicator::Implementation {
  ncclComm_t handle = nullptr;
};

std::string load_nccl(const NcclOptions& options) {
  // NCCL reads them once, when the first communicator or id is made.
  (void)::setenv("NCCL_NVLS_ENABLE", "0", 0);
  if (options.deterministic) {
    (void)::setenv("NCCL_ALGO", "Ring", 0);
    (void)::setenv("NCCL_PROTO", "Simple", 0);
  }
  if (calls.get_version == nullptr) {
    const char* name = options.library.empty() ? kLibrary : options.library.c_str();
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw InputError(fmt::format(
          "NCCL, which several ranks need, was not loaded: {}: install libnccl2, or name the file "
          "with --nccl-library",
          ::dlerror()));
    }
    NcclCalls found{};
    resolve(library, found.get_version, "ncclGetVersion");
    resolve(library, found.error_string, "ncclGetErrorString");
    resolve(library, found.last_error, "ncclGetLastError");
    resolve(library, found.unique_id, "ncclGetUniqueId");
    resolve(library, found.init, "ncclCommInitRankConfig");
    resolve(library, found.destroy, "ncclCommDestroy");
    resolve(library, found.async_error, "ncclCommGetAsyncError");
    resolve(library, found.all_reduce, "ncclAllReduce");
    resolve(library, found.reduce_scatter, "ncclReduceScatter");
    resolve(library, found.all_gather, "ncclAllGather");
    resolve(library, found.broadcast, "ncclBroadcast");
    resolve(library, found.send, "ncclSend");
    resolve(library, found.receive, "ncclRecv");
    resolve(library, found.group_start, "ncclGroupStart");
    resolve(library, found.group_end, "ncclGroupEnd");
    calls = found;
  }
  int version = 0;
  RIDGELINE_NCCL_CHECK(calls.get_version(&version));
  if (version < kOldestNccl) {
    throw InputError(fmt::format("NCCL {} is too old: take version {} or later", version_text(version),
                                 version_text(kOldestNccl)));
  }
  return version_text(version);
}

CommunicatorId Communicator::make_id() {
  ncclUniqueId id{};
  static_assert(sizeof(id) == sizeof(CommunicatorId));
  RIDGELINE_NCCL_CHECK(calls.unique_id(&id));
  CommunicatorId bytes{};
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

Communicator::Communicator(int rank, int size, const CommunicatorId& id, const NcclOptions& options)
    : rank_(rank), size_(size), nccl_(std::make_unique<Implementation>()) {
  ncclUniqueId unique{};
  std::memcpy(&unique, id.data(), sizeof(unique));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  const int ctas = options.ctas > 0 ? options.ctas : options.deterministic ? kDeterministicCtas : 0;
  if (ctas > 0) config.maxCTAs = ctas;
  if (options.deterministic) config.minCTAs = ctas;
  RIDGELINE_NCCL_CHECK(calls.init(&nccl_->handle, size, unique, rank, &config));
}

Communicator::~Communicator() {
  if (nccl_->handle != nullptr) (void)calls.destroy(nccl_->handle);
}

void Communicator::all_reduce_sum(float* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.all_reduce(data, data, static_cast<std::size_t>(count), ncclFloat32, ncclSum,
                                        nccl_->handle, stream));
}

void Communicator::all_reduce_sum(bf16* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.all_reduce(data, data, static_cast<std::size_t>(count), ncclBfloat16, ncclSum,
                                        nccl_->handle, stream));
}

void Communicator::all_reduce_sum(double* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.all_reduce(data, data, static_cast<std::size_t>(count), ncclFloat64, ncclSum,
                                        nccl_->handle, stream));
}

void Communicator::all_reduce_max(float* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.all_reduce(data, data, static_cast<std::size_t>(count), ncclFloat32, ncclMax,
                                        nccl_->handle, stream));
}

void Communicator::reduce_scatter_sum(float* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.reduce_scatter(data, data + rank_ * count, static_cast<std::size_t>(count),
                                            ncclFloat32, ncclSum, nccl_->handle, stream));
}

void Communicator::reduce_scatter_sum(bf16* data, std::int64_t count, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.reduce_scatter(data, data + rank_ * count, static_cast<std::size_t>(count),
                                            ncclBfloat16, ncclSum, nccl_->handle, stream));
}

void Communicator::all_gather(void* data, std::int64_t bytes, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(calls.all_gather(static_cast<const char*>(data) + rank_ * bytes, data,
                                        static_cast<std::size_t>(bytes), ncclInt8, nccl_->handle, stream));
}

void Communicator::broadcast(void* data, std::int64_t bytes, int from, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(
      calls.broadcast(data, data, static_cast<std::size_t>(bytes), ncclInt8, from, nccl_->handle, stream));
}

void Communicator::send(const void* data, std::int64_t bytes, int to, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(
      calls.send(data, static_cast<std::size_t>(bytes), ncclInt8, to, nccl_->handle, stream));
}

void Communicator::receive(void* data, std::int64_t bytes, int from, cudaStream_t stream) {
  RIDGELINE_NCCL_CHECK(
      calls.receive(data, static_cast<std::size_t>(bytes), ncclInt8, from, nccl_->handle, stream));
}

void Communicator::begin_group() {
  RIDGELINE_NCCL_CHECK(calls.group_start());
}

void Communicator::end_group() {
  RIDGELINE_NCCL_CHECK(calls.group_end());
}

std::string Communicator::async_error() const noexcept {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = calls.async_error(nccl_->handle, &state);
  const ncclResult_t result = asked != ncclSuccess ? asked : state;
  if (result == ncclSuccess || result == ncclInProgress) return {};
  return calls.error_string(result);
}

}  // namespace ridgeline::gpt2
