// Session::start_cupti(): session.h, lifecycle 2.
#include <memory>

#include "cupti/launch_params.h"
#include "cupti/order_calls.h"
#include "cupti/wait_calls.h"
#include "ridgeline/spool/environment.h"
#include "session/session.h"
#include "tiers/metric_sets.h"

namespace ridgeline::agent {
namespace {

[[gnu::hot]] void CUPTIAPI forward_callback(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                            const void* data) {
  static_cast<Session*>(session)->on_callback(domain, id, data);
}

std::vector<MetricSet> wanted_sets(const Settings& settings) {
  if (settings.metric_sets.empty()) return built_in_metric_sets();
  std::vector<MetricSet> sets;
  for (std::size_t i = 0; i < settings.metric_sets.size(); ++i) {
    std::string name = "R";
    name += std::to_string(i + 1);
    sets.push_back({std::move(name), settings.metric_sets[i]});
  }
  return sets;
}

}  // namespace

bool Session::subscribe() noexcept {
  const CUptiResult subscribed = session_.api->subscribe(&subscriber_, forward_callback, this);
  if (subscribed != CUPTI_SUCCESS) {
    const bool taken = subscribed == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
                       subscribed == CUPTI_ERROR_MAX_LIMIT_REACHED;
    session_.message(
        Severity::error, taken ? spool::Topic::subscriber_taken : spool::Topic::cupti_missing,
        taken
            ? "nothing is recorded: another tool (nsys, ncu, compute-sanitizer, cuda-gdb, a framework's own "
              "profiler) holds CUPTI; run without it: " +
                  session_.api->error_text(subscribed)
            : "nothing is recorded: CUPTI cannot be used: " + session_.api->error_text(subscribed) +
                  "; `ridgeline doctor` tells more");
    session_.api = nullptr;
    return false;
  }
  return true;
}

void Session::make_tiers() {
  bool wants_replay = false;
  for (const Phase phase : kScheduledPhases)
    wants_replay = wants_replay || (Replay::measures(phase) && session_.settings.schedule.has(phase));
  session_.timeline =
      std::make_unique<Timeline>(*session_.api, session_.writer, session_.totals, session_.kernels,
                                 session_.settings.buffer_bytes, session_.settings.buffer_count);
  session_.seen = &session_.timeline->seen();
  if (wants_replay)
    session_.replay = std::make_unique<Replay>(
        *session_.api, session_.driver, session_.writer, session_.steps, session_.timeline->intervals(),
        session_.exclusions, session_.gate, session_.captures, session_.host_waits, session_.times,
        session_.budget,
        CounterPlan{
            wanted_sets(session_.settings),
            session_.settings.schedule.has(Phase::flops) ? built_in_flop_sets() : std::vector<MetricSet>{},
            session_.settings.budget_ms * std::int64_t{1'000'000}});
  if (session_.replay) {
    session_.replay->put_off_by([this] { return conductor_.put_off(); });
    session_.replay->trace_kernels_by([this](bool on) { return session_.timeline->trace_kernels(on); });
  }
  session_.driver = load_driver_();
  if (interventions_.asked()) {
    session_.interventions = &interventions_;
    session_.timeline->expect_delays();
  }
  if (session_.wants_counters() || session_.settings.schedule.has(Phase::sample) ||
      session_.settings.schedule.has(Phase::stalls) || session_.settings.alone_steps > 0 ||
      interventions_.asked() || session_.settings.wait || session_.settings.after_ms > 0 ||
      session_.settings.duration_ms > 0)
    session_.host_waits.start(*session_.api, session_.driver);
  if (wants_replay || session_.settings.schedule.has(Phase::sample) || interventions_.asked())
    session_.timeline->time_launches(&session_.times);
  if (session_.settings.alone_in_graphs) session_.timeline->count_graph_launches();
  if (wants_replay) {
    session_.timeline->watch_concurrency(&session_.concurrency, &session_.exclusions,
                                         &session_.without_steps);
  }
  if (session_.replay && !session_.settings.replay_allowed)
    session_.replay->rule_out(
        spool::Topic::counters_refused,
        std::string("timeline only: counters were switched off by ") + spool::environment::kTiers,
        {RefusalCause::switched_off});

  if (session_.settings.schedule.has(Phase::sample)) {
    session_.sampling = std::make_unique<Sampling>(
        *session_.api, session_.writer, *session_.timeline, session_.gate, session_.captures,
        session_.host_waits, session_.device_launches,
        SamplingLimits{session_.settings.sample_interval_ns, session_.settings.sample_buffer_bytes});
    session_.sampling->meet_by([this](bool waits) {
      return session_.agreement.meet([this, waits] { return !waits || session_.gate.closed(); });
    });
    if (!session_.settings.sampling_allowed) {
      sampling_prepared_ = true;
      session_.sampling->rule_out(
          spool::Topic::sampling_refused,
          std::string("no sampled counters: sampling was switched off by ") + spool::environment::kTiers,
          {RefusalCause::switched_off});
    }
  }
  if (session_.settings.schedule.has(Phase::stalls)) {
    session_.stalls =
        std::make_unique<PcSampling>(*session_.api, session_.writer, session_.kernels, session_.captures,
                                     session_.host_waits, session_.launch_gate);
    session_.stalls->put_off_by([this] { return conductor_.put_off(); });
    if (!session_.settings.third_tier_allowed)
      session_.stalls->rule_out(std::string("no stall reasons: they were switched off by ") +
                                spool::environment::kTiers);
  }
}

void Session::enable_callbacks() noexcept {
  std::string refused, waits_refused;
  const auto enable = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, std::string& to) {
    const CUptiResult result = session_.api->enable_callback(1, subscriber_, domain, id);
    if (result != CUPTI_SUCCESS && to.empty())
      to = "callback " + std::to_string(domain) + "/" + std::to_string(id) + ": " +
           session_.api->error_text(result);
    return result == CUPTI_SUCCESS;
  };
  for (const CUpti_CallbackId id : kLaunchCallbacks) enable(CUPTI_CB_DOMAIN_DRIVER_API, id, refused);
  bool waits = false;
  for (const CUpti_CallbackId id : wait_callbacks())
    waits |= enable(CUPTI_CB_DOMAIN_DRIVER_API, id, waits_refused);
  waits_.available(waits);
  // An older CUPTI does not know the latest of these, and no program that runs with it calls them.
  std::string unknown;
  bool events = false;
  for (const CUpti_CallbackId id : event_callbacks())
    events |= enable(CUPTI_CB_DOMAIN_DRIVER_API, id, unknown);
  order_.available(events && session_.api->get_stream_id != nullptr);
  for (const auto& calls : {capture_callbacks(), stream_wait_callbacks(), lasting_callbacks()})
    for (const CUpti_CallbackId id : calls) enable(CUPTI_CB_DOMAIN_DRIVER_API, id, unknown);
  if (session_.stalls)
    for (const CUpti_CallbackId id : guarded_callbacks()) enable(CUPTI_CB_DOMAIN_DRIVER_API, id, unknown);
  enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, unknown);
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED})
    enable(CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id), refused);
  session_.api->enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_STATE);
  if (!refused.empty())
    session_.message(Severity::warning, spool::Topic::timeline_refused,
                     "launches may be missed: CUPTI refuses " + refused);
  // An older CUPTI does not know the latest of them, and no program that runs with it calls those.
  if (!waits)
    session_.message(Severity::warning, spool::Topic::timeline_refused,
                     "what the host waits for is not recorded: CUPTI refuses " + waits_refused);
}

bool Session::start_cupti(const CuptiApi& api, const std::string& library_path) noexcept {
  session_.api = &api;
  std::uint32_t version = 0;
  api.get_version(&version);
  session_.write_version(spool::Component::cupti, library_path, version);
  if (!subscribe()) return false;
  make_tiers();
  enable_callbacks();
  calls_.start(subscriber_);
  alone_.switch_by(calls_, [this](bool on) { window_.note_calls(on); });
  alone_.time_callbacks_with(subscriber_);
  window_.set_before_close([this] { alone_.drop(); });
  window_.start();
  session_.timeline->enable();
  cupti_started_ = true;
  return true;
}

}  // namespace ridgeline::agent
