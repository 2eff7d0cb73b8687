#include "models/selection.h"

#include <algorithm>

namespace ridgeline::gui {
namespace {
constexpr std::size_t kMaxPlaces = 200;
}

bool KernelChoice::holds(store::Id kernel) const {
  return std::binary_search(kernels.begin(), kernels.end(), kernel);
}

bool KernelChoice::shares_with(const KernelChoice& other) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](store::Id id) { return other.holds(id); });
}

void Selection::select_kernel(const KernelChoice& kernel) {
  if (launch_ && !kernel.holds(launch_->kernel_id)) {
    launch_.reset();
    emit launch_changed();
  }
  if (kernel == kernel_) return;
  kernel_ = kernel;
  emit kernel_changed();
}

void Selection::hover_kernel(const KernelChoice& kernel) {
  if (kernel == hovered_) return;
  hovered_ = kernel;
  emit hover_changed();
}

void Selection::select_launch(const std::optional<LaunchChoice>& launch, const std::string& name) {
  if (launch && !kernel_.holds(launch->kernel_id)) {
    launch_.reset();
    kernel_ = {{launch->kernel_id}, name};
    emit kernel_changed();
  }
  if (launch == launch_) return;
  launch_ = launch;
  emit launch_changed();
}

void Selection::choose(const Place& place) {
  const bool range = place.range != range_ || place.instance != instance_;
  const bool nvtx = place.nvtx != nvtx_ || place.nvtx_step != nvtx_step_;
  if (!range && !nvtx) return;
  range_ = place.range;
  instance_ = place.instance;
  nvtx_ = place.nvtx;
  nvtx_step_ = place.nvtx_step;
  remember(Gesture::single);
  if (nvtx) emit nvtx_changed();
  if (range) emit range_changed();
}

void Selection::select_range(const std::optional<TimeWindow>& range) {
  choose({view_, range, std::nullopt, nvtx_, nvtx_step_});
}

void Selection::select_instance(const RangeChoice& instance) {
  const TimeWindow calls{instance.calls.start_ns, instance.calls.end_ns};
  choose({view_, instance.on_gpu.length_ns() > 0 ? instance.on_gpu : calls, instance, {}, std::nullopt});
}

void Selection::select_nvtx(const std::string& pattern, std::optional<std::int64_t> step) {
  const bool keeps = pattern.empty();  // to let go of the pattern is not to let go of the time
  choose({view_, keeps ? range_ : std::nullopt, keeps ? instance_ : std::nullopt, pattern, step});
}

void Selection::narrow_to_nvtx(const std::string& pattern) {
  choose({view_, range_, instance_, pattern, nvtx_step_});
}

void Selection::show(const TimeWindow& view, Gesture gesture) {
  if (view == view_) return;
  view_ = view;
  remember(gesture);
  emit view_changed();
}

// The first of a movement opens a place in the history, the others move it.
void Selection::remember(Gesture gesture) {
  const Place place{view_, range_, instance_, nvtx_, nvtx_step_};
  if (gesture == Gesture::continued && continuing_) {
    history_[at_] = place;
    return;
  }
  continuing_ = gesture == Gesture::continued;
  history_.resize(at_ + 1);
  history_.push_back(place);
  if (history_.size() > kMaxPlaces) history_.erase(history_.begin());
  at_ = history_.size() - 1;
  emit history_changed();
}

void Selection::go(const Place& place) {
  continuing_ = false;
  const bool view = place.view != view_;
  const bool range = place.range != range_ || place.instance != instance_;
  const bool nvtx = place.nvtx != nvtx_ || place.nvtx_step != nvtx_step_;
  view_ = place.view;
  range_ = place.range;
  instance_ = place.instance;
  nvtx_ = place.nvtx;
  nvtx_step_ = place.nvtx_step;
  if (view) emit view_changed();
  if (range) emit range_changed();
  if (nvtx) emit nvtx_changed();
  emit history_changed();
}

void Selection::undo() {
  if (can_undo()) go(history_[--at_]);
}

void Selection::redo() {
  if (can_redo()) go(history_[++at_]);
}

void Selection::reset(const TimeWindow& view) {
  view_ = view;
  history_ = {{view}};
  at_ = 0;
  continuing_ = false;
  range_.reset();
  instance_.reset();
  nvtx_.clear();
  nvtx_step_.reset();
  launch_.reset();
  kernel_ = {};
  hovered_ = {};
  emit kernel_changed();
  emit hover_changed();
  emit launch_changed();
  emit range_changed();
  emit nvtx_changed();
  emit view_changed();
  emit history_changed();
}

}  // namespace ridgeline::gui
