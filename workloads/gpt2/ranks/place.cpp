#include "gpt2/ranks/place.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string_view>

#include "gpt2/common/errors.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kUsualPort = 29501;

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

int number_of(const Variables& variables, const char* name, int least, int most) {
  const std::string_view text = variables(name);
  int value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || stop != text.data() + text.size() || value < least || value > most) {
    throw InputError(
        fmt::format("{}={}: must be a number from {} to {}; unset it to train without other ranks", name,
                    text, least, most));
  }
  return value;
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
};
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    {"MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

constexpr int kMaxRanks = 1 << 20;
constexpr int kMaxPorts = 65535;

int configured_port(const Variables& variables) {
  if (is_set(variables("RIDGELINE_PORT"))) return number_of(variables, "RIDGELINE_PORT", 1, kMaxPorts);
  if (is_set(variables("MASTER_PORT"))) return number_of(variables, "MASTER_PORT", 1, kMaxPorts - 1) + 1;
  return kUsualPort;
}

// Whether the launcher says that all ranks are on this host.
bool on_one_host(const Variables& variables) {
  if (is_set(variables("SLURM_STEP_NUM_NODES"))) {
    return number_of(variables, "SLURM_STEP_NUM_NODES", 1, kMaxRanks) == 1;
  }
  for (const char* local : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (!is_set(variables(local))) continue;
    for (const Launcher& launcher : kLaunchers) {
      if (is_set(variables(launcher.size))) {
        return number_of(variables, local, 1, kMaxRanks) == number_of(variables, launcher.size, 1, kMaxRanks);
      }
    }
  }
  return false;
}

std::string host_of(const Variables& variables, const RankPlace& place) {
  for (const char* name : {"MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"}) {
    if (is_set(variables(name))) return variables(name);
  }
  if (place.size > 1 && !on_one_host(variables)) {
    throw InputError(
        fmt::format("{} ranks by {}: set MASTER_ADDR to the host of rank 0 (127.0.0.1 if all are on this "
                    "one), so that they can meet",
                    place.size, place.launcher));
  }
  return "127.0.0.1";
}

}  // namespace

std::optional<RankPlace> place_from_environment(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(variables(launcher.rank)) || !is_set(variables(launcher.size))) continue;
    RankPlace place;
    place.launcher = launcher.name;
    place.size = number_of(variables, launcher.size, 1, kMaxRanks);
    place.rank = number_of(variables, launcher.rank, 0, place.size - 1);
    place.local_rank = is_set(variables(launcher.local_rank))
                           ? number_of(variables, launcher.local_rank, 0, place.size - 1)
                           : place.rank;
    place.host = host_of(variables, place);
    place.port = configured_port(variables);
    return place;
  }
  return std::nullopt;
}

int device_of(const RankPlace& place, int devices) {
  if (place.local_rank < devices) return place.local_rank;
  if (devices == 1 && !place.launcher.empty()) return 0;
  throw EnvironmentError(fmt::format(
      "rank {} of {} needs a GPU of its own and would take number {}, this host shows {}: ask for "
      "fewer ranks, or see CUDA_VISIBLE_DEVICES",
      place.rank, place.size, place.local_rank, devices));
}

BatchSlice slice_of_batch(int batch, int rank, int size) {
  if (batch % size != 0) {
    throw InputError(
        fmt::format("-B {} cannot be divided among {} ranks: -B counts the sequences of all ranks, so "
                    "choose a multiple of {}",
                    batch, size, size));
  }
  return {rank * (batch / size), batch / size};
}

}  // namespace ridgeline::gpt2
