#include "steps/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ridgeline::agent {

WindowPlan::WindowPlan(const Options& options, spool::Control* control)
    : options_(options), control_(control) {
  delay_pending_ = options.after_ns > 0 && !options.wait;
  opens_at_start_ = !options.wait && options.after_ns == 0;
  if (control_ == nullptr) return;
  // A process that starts after a command follows it from the start.
  sequence_ = control_->sequence.load(std::memory_order_acquire);
  if (sequence_ == 0) return;
  opens_at_start_ = control_->command.load(std::memory_order_relaxed) ==
                    static_cast<std::uint32_t>(spool::WindowCommand::open);
  delay_pending_ = false;
}

void WindowPlan::context_created(std::int64_t now_ns) noexcept {
  std::int64_t none = 0;
  context_ns_.compare_exchange_strong(none, now_ns, std::memory_order_acq_rel);
}

WindowPlan::Action WindowPlan::due(bool open, std::int64_t opened_ns, std::int64_t now_ns,
                                   WindowCause* cause) noexcept {
  if (control_ != nullptr) {
    const std::uint32_t sequence = control_->sequence.load(std::memory_order_acquire);
    if (sequence != sequence_) {
      sequence_ = sequence;
      delay_pending_ = false;  // whoever gives commands has taken over
      const auto command =
          static_cast<spool::WindowCommand>(control_->command.load(std::memory_order_relaxed));
      *cause = WindowCause::signal;
      if (command == spool::WindowCommand::open && !open) return Action::open;
      if (command == spool::WindowCommand::close && open) return Action::close;
    }
  }
  if (open && options_.duration_ns > 0 && now_ns - opened_ns >= options_.duration_ns) {
    *cause = WindowCause::duration;
    return Action::close;
  }
  const std::int64_t context_ns = first_context_ns();
  if (!open && delay_pending_ && context_ns != 0 && now_ns - context_ns >= options_.after_ns) {
    delay_pending_ = false;
    *cause = WindowCause::delay;
    return Action::open;
  }
  return Action::none;
}

void WindowPlan::count_opened() noexcept {
  if (control_ != nullptr) control_->windows_opened.fetch_add(1, std::memory_order_acq_rel);
}

void WindowPlan::count_closed() noexcept {
  if (control_ != nullptr) control_->windows_closed.fetch_add(1, std::memory_order_acq_rel);
}

void WindowPlan::count_ended() noexcept {
  if (control_ != nullptr) control_->windows_ended.fetch_add(1, std::memory_order_acq_rel);
}

spool::Control* map_control(const std::string& spool_directory) noexcept {
  try {
    const std::string path = spool_directory + "/" + spool::kControlFileName;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    struct stat status {};
    void* memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_size >= spool::kControlBytes)
      memory = mmap(nullptr, spool::kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return nullptr;
    auto* control = static_cast<spool::Control*>(memory);
    if (control->magic == spool::kControlMagic) return control;
    munmap(memory, spool::kControlBytes);
  } catch (...) {
  }
  return nullptr;
}

}  // namespace ridgeline::agent
