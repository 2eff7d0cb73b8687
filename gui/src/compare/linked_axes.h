// linked_axes.h: two timelines that move together, one of them shifted.
#pragma once

#include <QObject>

#include "models/selection.h"

namespace ridgeline::gui {

/// A time t of A stands beside t + offset of B; a range that is chosen in one is chosen in the other. Both selections
/// outlive this.
class LinkedAxes : public QObject {
  Q_OBJECT
 public:
  LinkedAxes(Selection& a, Selection& b, QObject* parent = nullptr);

  [[nodiscard]] std::int64_t offset_ns() const { return offset_ns_; }
  [[nodiscard]] bool linked() const { return linked_; }
  /// Unlinked, each moves by itself; linking again keeps the shift that they then have.
  void set_linked(bool linked);
  /// These two times stand beside each other.
  void align(std::int64_t a_ns, std::int64_t b_ns);
  /// Moves B under A by that time.
  void slide(std::int64_t by_ns) { align(0, offset_ns_ + by_ns); }

 signals:
  void offset_changed();

 private:
  void follow(Selection& leader, Selection& follower, std::int64_t shift_ns);
  void follow_range(Selection& leader, Selection& follower, std::int64_t shift_ns);

  Selection& a_;
  Selection& b_;
  std::int64_t offset_ns_ = 0;
  bool linked_ = true;
  bool following_ = false;
};

}  // namespace ridgeline::gui
