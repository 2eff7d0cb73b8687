#include "ridgeline/queries/launch_query.h"

#include <algorithm>

#include "ridgeline/store/activity.h"

namespace ridgeline::queries {

Result<LaunchFacts> ask_launch(const store::Capture& capture, const analyzer::Model& model,
                               const LaunchQuery& query, const std::stop_token& stop) {
  std::optional<LaunchFacts> facts;
  const store::Activity activity(capture);
  activity.for_each_launch(
      {.time = store::TimeSpan{query.start_ns, query.start_ns + 1}},
      [&](const store::Launch& launch) {
        if (launch.device_id == query.device_id && launch.kernel_id == query.kernel_id &&
            launch.start_ns == query.start_ns)
          facts = LaunchFacts{.launch = launch};
      },
      stop);
  if (stop.stop_requested()) return Failure{ErrorKind::cancelled, "stopped while looking for the launch"};
  if (!facts) return Failure{ErrorKind::no_data, "no launch of that kernel starts then"};
  const store::Launch& launch = facts->launch;
  const auto step = std::find_if(
      model.steps.begin(), model.steps.end(),
      [&](const analyzer::ModelStep& each) { return launch.step_id && each.step.id == *launch.step_id; });
  if (step != model.steps.end()) facts->step_index = step->step.step_index;
  facts->nvtx_path = model.string(launch.nvtx_path_id);
  if (launch.thread_id) {
    const std::string_view name = model.thread_name(launch.process_id, *launch.thread_id);
    facts->thread = name.empty() ? std::to_string(*launch.thread_id) : std::string(name);
  }
  if (launch.host_start_ns && launch.host_end_ns) {
    facts->call_ns = *launch.host_end_ns - *launch.host_start_ns;
    facts->queued_ns = std::max<std::int64_t>(launch.start_ns - *launch.host_end_ns, 0);
  }
  return *facts;
}

}  // namespace ridgeline::queries
