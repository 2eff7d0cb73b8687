#include "ceilings/device/transfers.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>

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

int current_device() {
  int device = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

// The current device, until the scope ends.
class OnDevice {
 public:
  explicit OnDevice(int device) : before_(current_device()) { RIDGELINE_CUDA_CHECK(cudaSetDevice(device)); }
  ~OnDevice() { RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaSetDevice(before_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

// A copy and the device in whose stream it is: that device's copy engines carry it out.
struct Sender {
  Copy copy;
  int device = 0;
};

// A stream, and an event that can be recorded in it, of one device.
struct Lane {
  gpt2::Stream stream;
  gpt2::Event done;
};
std::unique_ptr<Lane> lane_of(int device) {
  const OnDevice on(device);
  return std::make_unique<Lane>();
}

// From a moment at which both streams are idle until both have ended.
double seconds_of(const Copy& first, const Copy& second, Lane& one, Lane* two) {
  gpt2::Event begin;
  begin.record(one.stream.get());
  if (two != nullptr) {
    RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(two->stream.get(), begin.get(), 0));
    second(two->stream.get());
    two->done.record(two->stream.get());
  }
  first(one.stream.get());
  if (two != nullptr) RIDGELINE_CUDA_CHECK(cudaStreamWaitEvent(one.stream.get(), two->done.get(), 0));
  one.done.record(one.stream.get());
  one.done.synchronize();
  return static_cast<double>(one.done.elapsed_ms_since(begin)) / 1e3;
}

// `first` is in a stream of the current device.
Roof measure(const Plan& plan, RoofName name, std::int64_t bytes, const std::string& configuration,
             const Copy& first, const std::optional<Sender>& second) {
  const std::unique_ptr<Lane> one = lane_of(current_device());
  const std::unique_ptr<Lane> two = second ? lane_of(second->device) : nullptr;
  const Copy other = second ? second->copy : Copy();
  const double moved = static_cast<double>(bytes) * (second ? 2 : 1);
  (void)seconds_of(first, other, *one, two.get());
  std::vector<double> rates;
  Reading reading;
  for (int round = 0; round < plan.rounds; ++round) {
    const double seconds = seconds_of(first, other, *one, two.get());
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
  const auto add = [&](const char* kind, const Copy& first, const std::optional<Sender>& second) {
    if (wanted(only, "pcie", std::string("pcie.") + kind))
      roofs.push_back(measure(plan, {Level::pcie, kind, {}}, kHostBytes, size, first, second));
  };
  add("to_device", to_device, {});
  add("to_host", to_host, {});
  add("both", to_device, Sender{to_host, current_device()});
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

// Of this process alone, until it ends.
void reach(int device, int peer) {
  const OnDevice on(device);
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(peer, 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled)
    (void)cudaGetLastError();  // it would be the next call's
  else
    RIDGELINE_CUDA_CHECK(enabled);
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
  reach(device, peer);
  reach(peer, device);
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
    const auto add = [&](const char* kind, const std::string& words, const Copy& first,
                         const std::optional<Sender>& second) {
      if (wanted(only, "nvlink", std::string("nvlink.") + kind))
        roofs.push_back(measure(plan, {Level::nvlink, kind, {}}, kPeerBytes, words, first, second));
    };
    add("to_peer", how, to_peer, {});
    add("from_peer", how, from_peer, {});
    // One device's copies to and from a peer share an engine and take turns: each has to send its own.
    add("both", how + ", each sends its own", to_peer, Sender{from_peer, peer});
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
