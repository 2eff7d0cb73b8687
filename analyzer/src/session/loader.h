// loader.h: reads of a capture what a scope needs, and no more.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/query_options.h"
#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/store/activity.h"
#include "steps/selection.h"

namespace ridgeline::analyzer {

class Loader {
 public:
  /// Keeps references to both.
  Loader(const store::Capture& capture, ReadCounts& counts);

  [[nodiscard]] const store::Activity& activity() const { return activity_; }

  /// Facts of the recording and the totals of its steps and processes; no launch.
  [[nodiscard]] Model overview(const QueryOptions& ask);

  /// The overview with the rows that answers about the scope are made of: the chosen steps, what the device did in
  /// their time, the measured steps (T1, T2, T3) of the process, and the peers' durations. `chosen` is of the
  /// overview. Throws Refused(cancelled).
  [[nodiscard]] Model slice(const Model& overview, const Selection& chosen, const Scope& scope,
                            const QueryOptions& ask);

 private:
  void read_launches(const store::ActivityFilter& filter, const QueryOptions& ask,
                     const store::Activity::Visit<store::LaunchRow>& visit);
  void add_launches(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model);
  void add_overlapping(const Selection& chosen, const std::vector<store::Id>& loaded, store::Id process_id,
                       const QueryOptions& ask, Model& model);
  /// What ended the gap in which the window ends, if it ends in one.
  void add_behind(const TimeWindow& window, const std::vector<store::Id>& loaded, store::Id process_id,
                  const QueryOptions& ask, Model& model);
  void add_waits(store::Id process_id, TimeWindow time, Model& model);
  /// What orders the streams and graphs of the launches that are there.
  void add_order(store::Id process_id, const Selection& chosen, Model& model);
  void add_collectives(Model& model);
  void add_metrics(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model);
  void add_copies(const store::ActivityFilter& filter, const QueryOptions& ask, Model& model);
  /// Those that declare work, and the outermost that the pattern means.
  void add_ranges(const store::ActivityFilter& filter, const std::string& pattern, const QueryOptions& ask,
                  Model& model);
  void add_peers(const Selection& chosen, std::vector<store::Id>& steps, const QueryOptions& ask,
                 Model& model);

  /// Where the sites of the capture are in the model that is being filled.
  class Sites {
   public:
    Launches::SiteIndex of(store::Id id, const store::Activity& activity, Launches& launches);

   private:
    std::vector<Launches::SiteIndex> small_;  // by id, which counts from 1
    std::unordered_map<store::Id, Launches::SiteIndex> others_;
  };

  Sites sites_;
  const store::Capture& capture_;
  store::Activity activity_;
  ReadCounts& counts_;
};

}  // namespace ridgeline::analyzer
