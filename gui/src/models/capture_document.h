// capture_document.h: one open capture: its session, which lives in a thread of its own, and what every panel
// needs of it.
//
// Lifecycle: 1. load() returns at once 2. progressed(), then loaded() or failed() 3. panels ask further questions;
// none of them blocks the window.
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/selection.h"
#include "models/worker.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/work/declared_work.h"
#include "ridgeline/queries/scope_query.h"

namespace ridgeline::gui {

using queries::ScopeAnswer;

/// Threads: the window's, but for what is passed to ask().
class CaptureDocument : public QObject {
  Q_OBJECT
 public:
  enum class State { empty, loading, ready, failed };

  explicit CaptureDocument(QString path, QObject* parent = nullptr);
  ~CaptureDocument() override;

  [[nodiscard]] const QString& path() const { return path_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const Failure& failure() const { return failure_; }

  void load();
  /// Ends the loading: failed() follows, of kind cancelled.
  void cancel_loading();

  /// The representative step, by kernel; after loaded(). Never null then.
  [[nodiscard]] const std::shared_ptr<const ScopeAnswer>& overview() const { return overview_; }
  [[nodiscard]] const std::shared_ptr<const analyzer::Analysis>& analysis() const { return analysis_; }
  /// The kernels that a finding is about: that kernel, or those of the operation that it names. Empty if it is about
  /// none of the overview. After loaded().
  [[nodiscard]] KernelChoice kernels_of(const analyzer::Subject& subject) const;
  /// Run, devices, steps, messages.
  [[nodiscard]] const std::shared_ptr<const analyzer::Model>& recording() const { return recording_; }
  /// Whether the overview is of a step; else the capture has none, and the recording is shown as a whole.
  [[nodiscard]] bool has_steps() const;
  /// What the overview is of: "step", or "recording" for lack of steps.
  [[nodiscard]] QString noun() const;
  /// The process that the overview is of.
  [[nodiscard]] store::Id process_id() const;
  /// The device that did most of the step.
  [[nodiscard]] store::Id device_id() const;

  using Done = std::function<void(Result<std::shared_ptr<const ScopeAnswer>>)>;
  /// Asks about another part of the capture. A question of the same `who` that is not answered yet is cancelled.
  void ask_scope(QObject* receiver, const std::string& who, const analyzer::Scope& scope,
                 analyzer::RankingKey key, Done done);

  /// Any other question; `question` runs on the session's thread.
  template <typename T>
  void ask(QObject* receiver, const std::string& who,
           std::function<Result<T>(analyzer::Session&, const analyzer::QueryOptions&)> question,
           std::function<void(Result<T>)> done) {
    worker_.ask<T>(
        receiver, who,
        [session = session_, question = std::move(question)](const std::stop_token& stop) -> Result<T> {
          if (!*session) return Failure{ErrorKind::no_data, "the capture is not open"};
          return question(**session, {stop, {}});
        },
        std::move(done));
  }
  [[nodiscard]] bool busy() const { return worker_.busy(); }

 signals:
  void progressed(const QString& what, qint64 done, qint64 total);
  void loaded();
  void failed();

 private:
  QString path_;
  State state_ = State::empty;
  Failure failure_;
  std::shared_ptr<const ScopeAnswer> overview_;
  /// Of the overview, by operation; made when it is first asked for, for it goes through all launches.
  mutable std::optional<analyzer::KernelsByOperation> operations_;
  std::shared_ptr<const analyzer::Analysis> analysis_;
  std::shared_ptr<const analyzer::Model> recording_;
  std::shared_ptr<std::unique_ptr<analyzer::Session>> session_;  // only the worker's thread looks inside
  Worker worker_;
};

/// The kernels that a row of a ranking stands for.
[[nodiscard]] KernelChoice kernels_of(const ScopeAnswer& answer, std::size_t ranking_row);
/// The time of the first step that a finding is about; empty if it is about no step, or one without a kernel.
[[nodiscard]] std::optional<analyzer::TimeWindow> window_of(const ScopeAnswer& answer,
                                                            const analyzer::Subject& subject);

}  // namespace ridgeline::gui
