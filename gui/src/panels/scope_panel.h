// scope_panel.h: what panels share that show one part of a capture: the representative step, the chosen range of time,
// what the chosen instance of an NVTX range launched, or the chosen NVTX ranges. A chip says so and lets the panel off
// them.
#pragma once

#include <QBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QWidget>
#include <cstdint>
#include <memory>

#include "models/capture_document.h"
#include "models/selection.h"

namespace ridgeline::gui {

class ScopePanel : public QWidget {
  Q_OBJECT
 public:
  /// `name` is unique among the panels; it keys their questions.
  ScopePanel(CaptureDocument& document, Selection& selection, std::string name, QWidget* parent = nullptr);

  [[nodiscard]] const std::shared_ptr<const ScopeAnswer>& answer() const { return answer_; }
  /// Whether an answer is on its way.
  [[nodiscard]] bool waiting() const { return waiting_; }

 signals:
  void settled();  ///< an answer, or that there is none, is shown

 protected:
  /// Shows what is known at once. Derived constructors call it when they are ready for show_answer().
  void start();
  virtual void show_answer(const ScopeAnswer& answer) = 0;
  /// What a row of the ranking stands for; asks again.
  void set_key(analyzer::RankingKey key);
  [[nodiscard]] analyzer::RankingKey key() const { return key_; }
  /// Chooses NVTX ranges for all panels but this one, whose rows are what they are chosen from, until another key or
  /// another choice comes. Of a step they are those of this step.
  void choose_ranges(const std::string& pattern);
  /// Of the step that the user chose; empty: the representative. Asks again.
  void set_steps(const analyzer::StepSelection& steps);
  [[nodiscard]] QHBoxLayout* bar() const { return bar_; }
  [[nodiscard]] QVBoxLayout* body() const { return body_; }

  CaptureDocument& document_;
  Selection& selection_;

 private:
  void follow();
  void ask_again();
  [[nodiscard]] bool is_chosen() const;  // a part of the capture is

  std::string name_;
  std::string own_;  // NVTX ranges that were chosen here; this panel does not follow them
  analyzer::RankingKey key_ = analyzer::RankingKey::kernel;
  analyzer::StepSelection steps_;
  std::shared_ptr<const ScopeAnswer> answer_;
  QHBoxLayout* bar_;
  QVBoxLayout* body_;
  QToolButton* chip_;
  QLabel* status_;
  bool follows_ = true;
  bool waiting_ = false;
  std::uint64_t questions_ = 0;  // asked so far
};

/// "812 µs from 3.204 ms", counted from the beginning of `origin`.
[[nodiscard]] QString range_text(const analyzer::TimeWindow& range, std::int64_t origin_ns);

}  // namespace ridgeline::gui
