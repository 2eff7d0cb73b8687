#include "compare/join_band.h"

#include <QPainter>
#include <algorithm>

#include "style/theme.h"

namespace ridgeline::gui {

JoinBand::JoinBand(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("The chosen kernel's launches in A, joined to those in B"));
}

void JoinBand::set_views(const TimelineView* a, const TimelineView* b) {
  view_a_ = a;
  view_b_ = b;
  update();
}

void JoinBand::set_launches(EventFinder::Launches a, EventFinder::Launches b, analyzer::TimeWindow a_step,
                            analyzer::TimeWindow b_step) {
  a_ = std::move(a);
  b_ = std::move(b);
  const auto first_from = [](const EventFinder::Launches& launches, std::int64_t ns) {
    return std::lower_bound(launches.begin(), launches.end(), std::pair<std::int64_t, std::int64_t>{ns, 0}) -
           launches.begin();
  };
  first_a_ = first_from(a_, a_step.start_ns);
  first_b_ = first_from(b_, b_step.start_ns);
  const std::ptrdiff_t count_a = first_from(a_, a_step.end_ns) - first_a_,
                       count_b = first_from(b_, b_step.end_ns) - first_b_;
  each_a_ = count_b > 0 && count_a % count_b == 0 ? count_a / count_b : 0;
  each_b_ = count_a > 0 && count_b % count_a == 0 ? count_b / count_a : 0;
  if (each_a_ > 0 || each_b_ > 0) {
    each_a_ = std::max<std::ptrdiff_t>(each_a_, 1);
    each_b_ = std::max<std::ptrdiff_t>(each_b_, 1);
  }
  update();
}

std::vector<Joint> JoinBand::joints() const {
  std::vector<Joint> joints;
  if (view_a_ == nullptr || view_b_ == nullptr || each_a_ == 0 || each_b_ == 0) return joints;
  const TimeAxis a = view_a_->axis(), b = view_b_->axis();
  // Along the side that has more of them; those before the step are counted back from it.
  const bool along_a = each_b_ == 1;
  const EventFinder::Launches &many = along_a ? a_ : b_, &few = along_a ? b_ : a_;
  const std::ptrdiff_t first_many = along_a ? first_a_ : first_b_, first_few = along_a ? first_b_ : first_a_;
  const std::ptrdiff_t each = along_a ? each_a_ : each_b_;
  const auto size_few = static_cast<std::ptrdiff_t>(few.size());
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(many.size()); ++i) {
    const std::ptrdiff_t away = i - first_many;
    const std::ptrdiff_t beside = first_few + (away >= 0 ? away / each : -((-away + each - 1) / each));
    if (beside < 0 || beside >= size_few) continue;
    const auto &of_many = many[static_cast<std::size_t>(i)], &of_few = few[static_cast<std::size_t>(beside)];
    const double a_x = a.x_of((along_a ? of_many : of_few).first),
                 b_x = b.x_of((along_a ? of_few : of_many).first);
    const bool seen = (a_x >= 0 && a_x < a.width()) || (b_x >= 0 && b_x < b.width());
    if (!seen) continue;
    joints.push_back({view_a_->label_width() + a_x, view_b_->label_width() + b_x});
    if (joints.size() > kMaxJoints) return {};
  }
  return joints;
}

void JoinBand::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().window);
  if (view_a_ == nullptr) return;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(rect().adjusted(view_a_->label_width(), 0, 0, 0));
  QColor colour = theme().selected;
  colour.setAlphaF(0.6F);
  painter.setPen(QPen(colour, 1.2));
  for (const Joint& joint : joints()) painter.drawLine(QPointF(joint.a_x, 0), QPointF(joint.b_x, height()));
}

}  // namespace ridgeline::gui
