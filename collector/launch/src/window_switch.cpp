#include "window_switch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace ridgeline::launch {

Result<WindowSwitch> WindowSwitch::create(const std::string& spool_directory) {
  const std::string path = spool_directory + "/" + spool::kControlFileName;
  const auto failed = [&] {
    return Failure{ErrorKind::io, fmt::format("cannot make {}: {}", path, std::strerror(errno))};
  };
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  // Allocated, not sparse: on a full disk a write through the mapping would kill this process.
  const int error = posix_fallocate(file, 0, spool::kControlBytes);
  void* memory = MAP_FAILED;
  if (error == 0)
    memory = mmap(nullptr, spool::kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  else
    errno = error;
  if (memory == MAP_FAILED) {
    const Failure failure = failed();
    close(file);
    return failure;
  }
  close(file);
  auto* control = new (memory) spool::Control{};
  control->magic = spool::kControlMagic;
  return WindowSwitch(control);
}

WindowSwitch::WindowSwitch(WindowSwitch&& other) noexcept : control_(other.control_) {
  other.control_ = nullptr;
}

WindowSwitch::~WindowSwitch() {
  if (control_ != nullptr) munmap(control_, spool::kControlBytes);
}

bool WindowSwitch::toggle() {
  const bool open = !any_open();
  const auto command = open ? spool::WindowCommand::open : spool::WindowCommand::close;
  control_->command.store(static_cast<std::uint32_t>(command));
  control_->sequence.fetch_add(1);
  return open;
}

}  // namespace ridgeline::launch
