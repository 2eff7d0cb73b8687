#include "compare/linked_axes.h"

namespace ridgeline::gui {

LinkedAxes::LinkedAxes(Selection& a, Selection& b, QObject* parent) : QObject(parent), a_(a), b_(b) {
  connect(&a_, &Selection::view_changed, this, [this] { follow(a_, b_, offset_ns_); });
  connect(&b_, &Selection::view_changed, this, [this] { follow(b_, a_, -offset_ns_); });
  connect(&a_, &Selection::range_changed, this, [this] { follow_range(a_, b_, offset_ns_); });
  connect(&b_, &Selection::range_changed, this, [this] { follow_range(b_, a_, -offset_ns_); });
}

void LinkedAxes::follow(Selection& leader, Selection& follower, std::int64_t shift_ns) {
  if (!linked_ || following_) return;
  following_ = true;
  follower.show({leader.view().start_ns + shift_ns, leader.view().end_ns + shift_ns},
                Selection::Gesture::continued);
  following_ = false;
}

void LinkedAxes::follow_range(Selection& leader, Selection& follower, std::int64_t shift_ns) {
  if (!linked_ || following_) return;
  following_ = true;
  std::optional<Selection::TimeWindow> range = leader.range();
  if (range) range = Selection::TimeWindow{range->start_ns + shift_ns, range->end_ns + shift_ns};
  follower.select_range(range);
  following_ = false;
}

void LinkedAxes::set_linked(bool linked) {
  if (linked == linked_) return;
  linked_ = linked;
  if (!linked) return;
  offset_ns_ = b_.view().start_ns - a_.view().start_ns;
  emit offset_changed();
  follow(a_, b_, offset_ns_);
}

void LinkedAxes::align(std::int64_t a_ns, std::int64_t b_ns) {
  offset_ns_ = b_ns - a_ns;
  emit offset_changed();
  follow(a_, b_, offset_ns_);
}

}  // namespace ridgeline::gui
