#include "ceilings/device/transfers.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>

#include "ceilings/core/statistics.h"
#include "ceilings/core/validity.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

namespace {

constexpr std::int64_t kHostBytes = 256 << 20;
constexpr std::int64_t kPeerBytes = std::int64_t{1} << 30;
constexpr std::uint32_t kSeed = 71;

// Page-locked memory of the host.
class Pinned {
 public:
  explicit Pinned(std::int64_t bytes) {
    RIDGELINE_CUDA_CHECK(cudaHostAlloc(&data_, static_cast<std::size_t>(bytes), cudaHostAllocDefault));
  }
  ~Pinned() { RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(data_)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

using Copy = std::function<void(cudaStream_t)>;

// From a moment at which both streams are idle until both have ended.
double seconds_of(const Copy& first, const Copy& second, const gpt2::Stream& one, const gpt2::Stream& two) {
  gpt2::Event begin, end, other;
  begin.record(one.get());
  if (second) {
    RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(two.get(), begin.get(), 0));
    second(two.get());
    other.record(two.get());
  }
  first(one.get());
  if (second) RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(one.get(), other.get(), 0));
  end.record(one.get());
  end.synchronize();
  return static_cast<double>(end.elapsed_ms_since(begin)) / 1e3;
}

Roof measure(const Plan& plan, RoofName name, std::int64_t bytes, const std::string& configuration,
             const Copy& first, const Copy& second) {
  const gpt2::Stream one, two;
  const double moved = static_cast<double>(bytes) * (second ? 2 : 1);
  (void)seconds_of(first, second, one, two);
  std::vector<double> rates;
  Reading reading;
  for (int round = 0; round < plan.rounds; ++round) {
    const double seconds = seconds_of(first, second, one, two);
    rates.push_back(moved / seconds);
    reading.seconds += seconds;
  }
  reading.value = median(rates);
  reading.rounds = plan.rounds;
  reading.spread_ratio = disagreement(rates);
  if (auto found = rounds_disagree(rates, kMaxHostDisagreement)) reading.voids.push_back(*std::move(found));
  Roof roof;
  roof.name = std::move(name);
  roof.unit = "bytes_per_s";
  roof.work = moved;
  roof.configuration = configuration;
  roof.readings.push_back(std::move(reading));
  return roof;
}

void host_link(const Plan& plan, const std::vector<std::string>& only, std::vector<Roof>& roofs) {
  if (!wanted(only, "pcie", "pcie.to_device") && !wanted(only, "pcie", "pcie.to_host") &&
      !wanted(only, "pcie", "pcie.both"))
    return;
  const Pinned sent(kHostBytes), received(kHostBytes);
  gpt2::DeviceBuffer<std::uint32_t> in(kHostBytes / 4), out(kHostBytes / 4);
  fill_floats(out.data(), out.size(), kSeed, nullptr);
  std::memset(received.data(), 0, kHostBytes);
  auto* words = static_cast<std::uint32_t*>(sent.data());
  for (std::int64_t i = 0; i < kHostBytes / 4; ++i)
    words[i] = random_float_bits(kSeed + 1, static_cast<std::uint64_t>(i));
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  const Copy to_device = [&](cudaStream_t stream) {
    RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(in.data(), sent.data(), kHostBytes, cudaMemcpyHostToDevice, stream));
  };
  const Copy to_host = [&](cudaStream_t stream) {
    RIDGELINE_CUDA_CHECK(
        cudaMemcpyAsync(received.data(), out.data(), kHostBytes, cudaMemcpyDeviceToHost, stream));
  };
  const std::string size = std::to_string(kHostBytes >> 20) + " MiB, pinned";
  const std::size_t before = roofs.size();
  const auto add = [&](const char* kind, const Copy& first, const Copy& second) {
    if (wanted(only, "pcie", std::string("pcie.") + kind))
      roofs.push_back(measure(plan, {Level::pcie, kind, {}}, kHostBytes, size, first, second));
  };
  add("to_device", to_device, {});
  add("to_host", to_host, {});
  add("both", to_device, to_host);
  // All that arrived, either way.
  to_device(nullptr);
  to_host(nullptr);
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<std::uint32_t> arrived = in.download();
  const auto* back = static_cast<const std::uint32_t*>(received.data());
  bool right = true;
  for (std::size_t i = 0; i < arrived.size() && right; ++i)
    right = arrived[i] == words[i] && back[i] == random_float_bits(kSeed, i);
  for (std::size_t i = before; i < roofs.size() && !right; ++i)
    roofs[i].readings.front().voids.push_back({VoidRule::wrong_result, "what arrived is not what was sent"});
}

void peer_link(const Plan& plan, const std::vector<std::string>& only, int device, std::vector<Roof>& roofs) {
  int count = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDeviceCount(&count));
  const int peer = (device + 1) % count;
  int reaches = 0, reached = 0;
  if (count < 2 || (!wanted(only, "nvlink", "nvlink.to_peer") &&
                    !wanted(only, "nvlink", "nvlink.from_peer") && !wanted(only, "nvlink", "nvlink.both")))
    return;
  RIDGELINE_CUDA_CHECK(cudaDeviceCanAccessPeer(&reaches, device, peer));
  RIDGELINE_CUDA_CHECK(cudaDeviceCanAccessPeer(&reached, peer, device));
  if (reaches == 0 || reached == 0) return;
  // Of this process alone, until it ends.
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(peer, 0);
  if (enabled != cudaErrorPeerAccessAlreadyEnabled) RIDGELINE_CUDA_CHECK(enabled);
  gpt2::DeviceBuffer<std::uint32_t> own_out(kPeerBytes / 4), own_in(kPeerBytes / 4);
  fill_floats(own_out.data(), own_out.size(), kSeed, nullptr);
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  RIDGELINE_CUDA_CHECK(cudaSetDevice(peer));
  {
    gpt2::DeviceBuffer<std::uint32_t> theirs(kPeerBytes / 4), theirs_in(kPeerBytes / 4);
    fill_floats(theirs.data(), theirs.size(), kSeed + 2, nullptr);
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    RIDGELINE_CUDA_CHECK(cudaSetDevice(device));
    const Copy to_peer = [&](cudaStream_t stream) {
      RIDGELINE_CUDA_CHECK(
          cudaMemcpyPeerAsync(theirs_in.data(), peer, own_out.data(), device, kPeerBytes, stream));
    };
    const Copy from_peer = [&](cudaStream_t stream) {
      RIDGELINE_CUDA_CHECK(
          cudaMemcpyPeerAsync(own_in.data(), device, theirs.data(), peer, kPeerBytes, stream));
    };
    const std::string how = std::to_string(kPeerBytes >> 20) + " MiB, peer is device " + std::to_string(peer);
    const std::size_t before = roofs.size();
    const auto add = [&](const char* kind, const Copy& first, const Copy& second) {
      if (wanted(only, "nvlink", std::string("nvlink.") + kind))
        roofs.push_back(measure(plan, {Level::nvlink, kind, {}}, kPeerBytes, how, first, second));
    };
    add("to_peer", to_peer, {});
    add("from_peer", from_peer, {});
    add("both", to_peer, from_peer);
    to_peer(nullptr);
    from_peer(nullptr);
    RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<std::uint32_t> arrived = own_in.download(), sent = theirs_in.download();
    bool right = true;
    for (std::size_t i = 0; i < arrived.size() && right; ++i)
      right = arrived[i] == random_float_bits(kSeed + 2, i) && sent[i] == random_float_bits(kSeed, i);
    for (std::size_t i = before; i < roofs.size() && !right; ++i)
      roofs[i].readings.front().voids.push_back(
          {VoidRule::wrong_result, "what arrived is not what was sent"});
  }
}

}  // namespace

std::vector<Roof> measure_transfers(const Plan& plan, const std::vector<std::string>& only, int device) {
  std::vector<Roof> roofs;
  host_link(plan, only, roofs);
  peer_link(plan, only, device, roofs);
  return roofs;
}

}  // namespace ridgeline::ceilings
