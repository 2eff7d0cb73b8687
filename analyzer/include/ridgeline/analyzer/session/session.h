// session.h: an analysis that can be asked.
//
// Lifecycle: 1. open() reads the facts of the recording, nothing that grows with its launches
// 2. each question computes what it needs and keeps it: a second question about the same scope reads nothing
// 3. answers outlive the session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/query_options.h"
#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/roofline/roofline.h"
#include "ridgeline/analyzer/session/analysis.h"
#include "ridgeline/analyzer/whatif/what_if.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::analyzer {

/// Questions to one capture, answered lazily and remembered.
///
/// Threads: safe; one question is worked on at a time, others wait for it. A waiting question is not cancelled
/// before its turn.
/// Failures of every question: no_data (no launch with a timestamp), usage (no such process, device, step),
/// cancelled (Ask::stop; what was finished is kept, so that the next question goes on from there), and what the
/// capture throws: Error(corrupt), Error(io).
class Session {
 public:
  /// Failures: those of store::Capture::open().
  [[nodiscard]] static Result<Session> open(const std::string& path, AnalysisOptions options = {});
  /// The options hold for the whole session.
  explicit Session(store::Capture capture, AnalysisOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  [[nodiscard]] const AnalysisOptions& options() const;
  [[nodiscard]] ReadCounts reads() const;

  /// How the recording went: run, devices, processes, tiers, completeness, messages. Never fails for lack of
  /// launches.
  [[nodiscard]] Answer<Model> recording(const QueryOptions& ask = {});
  /// A summary of every step of every process, and the choice of the representative.
  [[nodiscard]] Answer<StepAnalysis> steps(const Scope& scope = {}, const QueryOptions& ask = {});
  /// The launches, counters and ranges that the answers about this scope point into: LaunchIndex, StepIndex.
  [[nodiscard]] Answer<Model> model(const Scope& scope = {}, const QueryOptions& ask = {});
  [[nodiscard]] Answer<UtilisationAnalysis> utilisation(const Scope& scope = {},
                                                        const QueryOptions& ask = {});
  [[nodiscard]] Answer<Ranking> ranking(const Scope& scope = {}, const RankingKeys& key = RankingKey::kernel,
                                        const QueryOptions& ask = {});
  [[nodiscard]] Answer<Accounting> accounting(const Scope& scope = {}, const QueryOptions& ask = {});
  [[nodiscard]] Answer<Roofline> roofline(const Scope& scope = {},
                                          const RankingKeys& key = RankingKey::kernel,
                                          const QueryOptions& ask = {});
  /// With what a reader must know, worst first.
  [[nodiscard]] Answer<Quality> quality(const Scope& scope = {}, const QueryOptions& ask = {});

  /// The step of the scope simulated, with others that launch the same beside it. It is of whole_step(scope), and
  /// positions of changes are those of the launches in utilisation() of that.
  [[nodiscard]] Answer<Replay> replay(const Scope& scope = {}, const QueryOptions& ask = {});

  /// What whole_step(scope) gains; changes are of launches in the scope's range. Failure: usage too, for what what_if()
  /// refuses and for a window.
  [[nodiscard]] Answer<WhatIf> what_if(const Scope& scope, const WhatIfRequest& request,
                                       const QueryOptions& ask = {});

  /// What to do first, and what it would give.
  [[nodiscard]] Answer<AdviceReport> advice(const Scope& scope = {}, const QueryOptions& ask = {});

  /// Parts of analysis() that cost something beyond the ranking, to be joined by |.
  static constexpr unsigned kRanking = 0;
  static constexpr unsigned kCheck = 1U << 0U;
  static constexpr unsigned kAccounting = 1U << 1U;
  static constexpr unsigned kStalls = 1U << 2U;
  static constexpr unsigned kRoofline = 1U << 3U;
  static constexpr unsigned kDeclared = 1U << 4U;
  static constexpr unsigned kSamples = 1U << 5U;  ///< the sampled step, for painting
  static constexpr unsigned kAdvice = 1U << 7U;
  static constexpr unsigned kEverything = ~0U;
  /// The answers about one scope together, as a report wants them; parts that are not asked for are empty. Steps,
  /// utilisation, the ranking by AnalysisOptions::rank and the quality are always there.
  [[nodiscard]] Answer<Analysis> analysis(const Scope& scope = {}, unsigned parts = kEverything,
                                          const QueryOptions& ask = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::analyzer
