// join_band.h: between two timelines: lines from the launches of the chosen kernel in A to their counterparts in B.
#pragma once

#include <QWidget>

#include "models/selection.h"
#include "timeline/timeline_scene.h"
#include "timeline/timeline_view.h"

namespace ridgeline::gui {

/// A line's ends on both time axes, in pixels of the band.
struct Joint {
  double a_x = 0, b_x = 0;
};

class JoinBand : public QWidget {
  Q_OBJECT
 public:
  explicit JoinBand(QWidget* parent = nullptr);

  /// The timelines above and below; both are asked for their axes when the band is drawn.
  void set_views(const TimelineView* a, const TimelineView* b);
  /// Launches of the chosen kernel in order of time, and the steps that are counterparts of each other. The first of A
  /// in its step is the counterpart of the first of B in its step, and so forth; where a step of one side has a
  /// multiple of the other's launches (kernels that were fused) so many are of one. Else nothing says what belongs
  /// together, and nothing is joined.
  void set_launches(EventFinder::Launches a, EventFinder::Launches b, analyzer::TimeWindow a_step,
                    analyzer::TimeWindow b_step);
  /// What is drawn: launches that begin in view on one side at least, unless they are too many to be told apart.
  [[nodiscard]] std::vector<Joint> joints() const;
  [[nodiscard]] QSize sizeHint() const override { return {400, kHeight}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  static constexpr int kHeight = 22;
  static constexpr std::size_t kMaxJoints = 300;
  const TimelineView* view_a_ = nullptr;
  const TimelineView* view_b_ = nullptr;
  EventFinder::Launches a_, b_;
  std::ptrdiff_t first_a_ = 0, first_b_ = 0;  // counterparts of each other
  std::ptrdiff_t each_a_ = 1, each_b_ = 1;    // so many launches are of one; 0: none are
};

}  // namespace ridgeline::gui
