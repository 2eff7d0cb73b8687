// place.h: which rank of which job a process is, and which part of the batch is its own. Host only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ridgeline::gpt2 {

struct RankPlace {
  int rank = 0;        // 0 .. size - 1
  int size = 1;        // ranks of the job
  int local_rank = 0;  // among those of this host
  std::string host;    // where rank 0 waits for the others; empty: forked by --ranks, or alone
  int port = 0;
  std::string launcher;  // whose variables said so: "torchrun", "Slurm", "MPI"; empty: --ranks
};

/// A variable's value; null: it is not set.
using Variables = std::function<const char*(const char* name)>;

/// The first of these that is complete, else nothing:
///   torchrun   RANK, WORLD_SIZE; LOCAL_RANK (else RANK)
///   Slurm      SLURM_PROCID, SLURM_STEP_NUM_TASKS: of a step that srun started; SLURM_LOCALID
///   Open MPI   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK
///   other MPI  PMI_RANK, PMI_SIZE; MPI_LOCALRANKID
/// Rank 0's host is MASTER_ADDR, else SLURM_LAUNCH_NODE_IPADDR, else this one. Its port is RIDGELINE_PORT, else one
/// above MASTER_PORT, at which torchrun itself may listen, else 29501. Throws InputError for a variable that is no
/// number or out of its range, and for a job on several hosts without an address.
std::optional<RankPlace> place_from_environment(const Variables& variables);

/// The GPU of a rank among `devices` that its process sees: its local rank, or the only one where the launcher shows
/// each process one of its own. Throws EnvironmentError when there is none.
int device_of(const RankPlace& place, int devices);

/// Sequences [begin, begin + count) of each micro-batch.
struct BatchSlice {
  int begin = 0;
  int count = 0;
};

/// Throws InputError unless `size` divides the batch.
BatchSlice slice_of_batch(int batch, int rank, int size);

}  // namespace ridgeline::gpt2
