// selection.h: what is looked at, once for all panels: the chosen kernel, the one under the mouse, the chosen range of
// time, instance or kind of NVTX ranges, and the stretch of time in view. Panels set it and follow it; none knows
// another.
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

/// One instance of an NVTX range: what it means is what it launched, whenever that ran.
struct RangeChoice {
  store::Id process_id = 0;
  analyzer::CalledIn calls;     ///< of whom, when, and its name
  analyzer::TimeWindow on_gpu;  ///< of what it launched; empty: it launched nothing
  friend bool operator==(const RangeChoice&, const RangeChoice&) = default;
};

/// Threads: the window's. A signal comes only if something changed.
class Selection : public QObject {
  Q_OBJECT
 public:
  using TimeWindow = analyzer::TimeWindow;

  [[nodiscard]] const KernelChoice& kernel() const { return kernel_; }
  [[nodiscard]] const KernelChoice& hovered() const { return hovered_; }
  [[nodiscard]] const std::optional<LaunchChoice>& launch() const { return launch_; }
  /// A range of time; of a chosen instance that of its launches on the GPU, or of its calls if it launched nothing.
  [[nodiscard]] const std::optional<TimeWindow>& range() const { return range_; }
  /// Only with a range(): it is that of this instance, and means its launches.
  [[nodiscard]] const std::optional<RangeChoice>& instance() const { return instance_; }
  /// NVTX ranges, as in Scope::range; "": none is chosen. With a range of time, those in it.
  [[nodiscard]] const std::string& nvtx() const { return nvtx_; }
  /// Of this step; empty: all their instances.
  [[nodiscard]] std::optional<std::int64_t> nvtx_step() const { return nvtx_step_; }
  /// What the timeline shows.
  [[nodiscard]] const TimeWindow& view() const { return view_; }

  void select_kernel(const KernelChoice& kernel);
  void hover_kernel(const KernelChoice& kernel);
  /// Also selects its kernel, named so.
  void select_launch(const std::optional<LaunchChoice>& launch, const std::string& name);
  void select_range(const std::optional<TimeWindow>& range);
  /// Lets go of the ranges of a pattern.
  void select_instance(const RangeChoice& instance);
  /// Lets go of the range of time, which would leave one instance as a rule.
  void select_nvtx(const std::string& pattern, std::optional<std::int64_t> step = {});
  /// Within the chosen range of time or instance.
  void narrow_to_nvtx(const std::string& pattern);

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
    std::optional<TimeWindow> range = {};
    std::optional<RangeChoice> instance = {};
    std::string nvtx = {};
    std::optional<std::int64_t> nvtx_step = {};
    friend bool operator==(const Place&, const Place&) = default;
  };
  void remember(Gesture gesture);
  void go(const Place& place);
  void choose(const Place& place);  // all but the view

  KernelChoice kernel_;
  KernelChoice hovered_;
  std::optional<LaunchChoice> launch_;
  std::optional<TimeWindow> range_;
  std::optional<RangeChoice> instance_;
  std::string nvtx_;
  std::optional<std::int64_t> nvtx_step_;
  TimeWindow view_;
  std::vector<Place> history_ = {{}};
  std::size_t at_ = 0;
  bool continuing_ = false;
};

}  // namespace ridgeline::gui
