// selection.h: what is looked at, once for all panels: the chosen kernel, the one under the mouse, the chosen range of
// time or NVTX ranges, and the stretch of time in view. Panels set it and follow it; none knows another.
#pragma once

#include <QObject>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::gui {

/// One kernel, or the kernels that a row of a table stands for.
struct KernelChoice {
  std::vector<store::Id> kernels;  ///< Kernel::id, ascending
  std::string name;                ///< for people
  [[nodiscard]] bool empty() const { return kernels.empty(); }
  [[nodiscard]] bool holds(store::Id kernel) const;
  [[nodiscard]] bool shares_with(const KernelChoice& other) const;  ///< at least one kernel
  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
};

/// One launch: a kernel's execution on one device.
struct LaunchChoice {
  store::Id device_id = 0;
  store::Id kernel_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  friend bool operator==(const LaunchChoice&, const LaunchChoice&) = default;
};

/// Threads: the window's. A signal comes only if something changed.
class Selection : public QObject {
  Q_OBJECT
 public:
  using TimeWindow = analyzer::TimeWindow;

  [[nodiscard]] const KernelChoice& kernel() const { return kernel_; }
  [[nodiscard]] const KernelChoice& hovered() const { return hovered_; }
  [[nodiscard]] const std::optional<LaunchChoice>& launch() const { return launch_; }
  [[nodiscard]] const std::optional<TimeWindow>& range() const { return range_; }
  /// NVTX ranges in all their instances, as in Scope::range; "": none is chosen. With a range of time, those in it.
  [[nodiscard]] const std::string& nvtx() const { return nvtx_; }
  /// What the timeline shows.
  [[nodiscard]] const TimeWindow& view() const { return view_; }

  void select_kernel(const KernelChoice& kernel);
  void hover_kernel(const KernelChoice& kernel);
  /// Also selects its kernel, named so.
  void select_launch(const std::optional<LaunchChoice>& launch, const std::string& name);
  void select_range(const std::optional<TimeWindow>& range);
  /// Lets go of the range of time, which would leave one instance as a rule.
  void select_nvtx(const std::string& pattern);

  enum class Gesture {
    single,     ///< one step of the undo history
    continued,  ///< of a movement under way: dragging, turning a wheel
  };
  void show(const TimeWindow& view, Gesture gesture = Gesture::single);

  [[nodiscard]] bool can_undo() const { return at_ > 0; }
  [[nodiscard]] bool can_redo() const { return at_ + 1 < history_.size(); }
  void undo();
  void redo();
  /// Forgets everything; for another capture.
  void reset(const TimeWindow& view);

 signals:
  void kernel_changed();
  void hover_changed();
  void launch_changed();
  void range_changed();
  void nvtx_changed();
  void view_changed();
  void history_changed();

 private:
  struct Place {
    TimeWindow view;
    std::optional<TimeWindow> range;
    std::string nvtx = {};
    friend bool operator==(const Place&, const Place&) = default;
  };
  void remember(Gesture gesture);
  void go(const Place& place);

  KernelChoice kernel_;
  KernelChoice hovered_;
  std::optional<LaunchChoice> launch_;
  std::optional<TimeWindow> range_;
  std::string nvtx_;
  TimeWindow view_;
  std::vector<Place> history_ = {{}};
  std::size_t at_ = 0;
  bool continuing_ = false;
};

}  // namespace ridgeline::gui
