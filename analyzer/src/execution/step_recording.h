// step_recording.h: a step of a capture as calls, work and who issued what.
#pragma once

#include <optional>
#include <vector>

#include "execution/recorded_step.h"
#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

struct StepRecording {
  RecordedStep step;
  /// The launches among RecordedStep::works, ascending, and which of the works each is.
  struct Launched {
    LaunchIndex launch = 0;
    RecordedStep::Index work = 0;
  };
  std::vector<Launched> launches;
  /// Copies between host and device among RecordedStep::works.
  struct HostCopy {
    RecordedStep::Index work = 0;
    CopyKind kind = CopyKind::host_to_device;
    std::size_t copy = 0;  ///< into Model::memcpys
  };
  std::vector<HostCopy> host_copies;
  /// What the calls among RecordedStep::calls are that do nothing but wait.
  struct HostWait {
    RecordedStep::Index call = 0;
    SynchronisationCall kind = SynchronisationCall::device;
  };
  std::vector<HostWait> host_waits;
  std::int64_t launches_with_call = 0;  ///< whose call on the host is known
  bool waits = false;                   ///< what the host waited for was recorded
  bool order = false;                   ///< what orders streams was: RecordedStep::dependencies are those
};

/// The stretch of time on the host's clock that is of use to simulate a step: its calls, and what it waited for. Empty:
/// the step does not say when it began on the host.
[[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> host_time_of(
    const Model& model, const RepresentativeStep& step);

/// All that the step's process had the devices do in it. Empty: nothing with a timestamp.
[[nodiscard]] std::optional<StepRecording> record_step(const Model& model, const RepresentativeStep& step);

}  // namespace ridgeline::analyzer
