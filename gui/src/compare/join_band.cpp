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

void JoinBand::set_launches(EventFinder::Launches a, EventFinder::Launches b, std::int64_t a_from,
                            std::int64_t b_from) {
  a_ = std::move(a);
  b_ = std::move(b);
  const auto first_from = [](const EventFinder::Launches& launches, std::int64_t ns) {
    return std::lower_bound(launches.begin(), launches.end(), std::pair<std::int64_t, std::int64_t>{ns, 0}) -
           launches.begin();
  };
  first_a_ = first_from(a_, a_from);
  first_b_ = first_from(b_, b_from);
  update();
}

std::vector<Joint> JoinBand::joints() const {
  std::vector<Joint> joints;
  if (view_a_ == nullptr || view_b_ == nullptr) return joints;
  const TimeAxis a = view_a_->axis(), b = view_b_->axis();
  const std::ptrdiff_t shift = first_b_ - first_a_;
  const auto size_a = static_cast<std::ptrdiff_t>(a_.size()), size_b = static_cast<std::ptrdiff_t>(b_.size());
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, -shift); i < size_a && i + shift < size_b; ++i) {
    const double a_x = a.x_of(a_[static_cast<std::size_t>(i)].first);
    const double b_x = b.x_of(b_[static_cast<std::size_t>(i + shift)].first);
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
