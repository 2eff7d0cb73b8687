#include "tiers/device_turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace ridgeline::agent {
namespace {

std::int64_t monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Tells processes of one number apart, of namespaces that do not see each other.
std::uint64_t new_id() noexcept {
  return static_cast<std::uint64_t>(monotonic_ns()) << 16 ^ static_cast<std::uint64_t>(getpid());
}

bool everybody_may_write(const char* directory) noexcept {
  struct stat status {};
  return stat(directory, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0 &&
         (status.st_mode & S_IWOTH) != 0;
}

}  // namespace

std::string default_lock_directory() {
  // Decided by what the folder is, not by what this user may do in it: all have to come to the same.
  return everybody_may_write("/run/lock") ? "/run/lock" : "/tmp";
}

DeviceTurn::DeviceTurn(const std::string& directory, const std::string& name)
    : path_(directory + "/ridgeline-gpu-" + name), id_(new_id()) {}

DeviceTurn::~DeviceTurn() {
  release();
  withdraw();
}

bool DeviceTurn::open() noexcept {
  if (file_ >= 0 && is_current()) return true;
  close();
  // No link is followed and a pipe does not block; made with O_EXCL, so that what is made is this file.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int attempt = 0; attempt < 3 && file_ < 0; ++attempt) {
    file_ = ::open(path_.c_str(), kFlags);
    if (file_ >= 0 || errno != ENOENT) break;
    file_ = ::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
    if (file_ >= 0) (void)fchmod(file_, 0666);  // whatever the program's mask says: all users share it
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) return false;
  struct stat status {};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file_);
    file_ = -1;
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

// A program may close files that are not its own, and the number may be another file's by now.
void DeviceTurn::close() noexcept {
  struct stat status {};
  if (file_ >= 0 && fstat(file_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::close(file_);
  file_ = -1;
  held_ = false;
}

// The file that the path names: one that was removed is locked by nobody else.
bool DeviceTurn::is_current() const noexcept {
  struct stat by_path {};
  struct stat by_number {};
  return fstat(file_, &by_number) == 0 && by_number.st_dev == device_ && by_number.st_ino == inode_ &&
         lstat(path_.c_str(), &by_path) == 0 && by_path.st_dev == device_ && by_path.st_ino == inode_;
}

bool DeviceTurn::lock(short type) noexcept {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return fcntl(file_, F_SETLK, &range) == 0;
}

bool DeviceTurn::read(Waiter (&waiters)[kPlaces]) const noexcept {
  const ssize_t bytes = pread(file_, waiters, sizeof waiters, 0);
  if (bytes < 0) return false;
  for (std::size_t i = static_cast<std::size_t>(bytes) / sizeof(Waiter); i < kPlaces; ++i) waiters[i] = {};
  const std::int64_t now_ns = monotonic_ns();
  for (Waiter& waiter : waiters)
    if (waiter.since_ns <= 0 || waiter.since_ns > now_ns || waiter.until_ns < now_ns ||
        waiter.until_ns > now_ns + kMaxWaitNs)
      waiter = {};
  return true;
}

void DeviceTurn::write(int place, const Waiter& waiter) const noexcept {
  (void)!pwrite(file_, &waiter, sizeof waiter, static_cast<off_t>(place) * static_cast<off_t>(sizeof waiter));
}

// Two that begin to wait at one moment may take one place: the one that lost it takes another when it asks again.
void DeviceTurn::wait_from(std::int64_t now_ns, std::int64_t again_ns) noexcept {
  Waiter waiters[kPlaces];
  if (!read(waiters)) return;
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  const auto of = [&](std::uint64_t id) {
    return std::find_if(std::begin(waiters), std::end(waiters), [&](const Waiter& w) { return w.id == id; });
  };
  auto place = of(id_);
  if (place == std::end(waiters)) place = of(0);
  if (place == std::end(waiters)) return;  // more than there are places for: it asks without a place
  write(static_cast<int>(place - std::begin(waiters)),
        {id_, waiting_since_ns_, now_ns + std::clamp<std::int64_t>(again_ns, 0, kMaxWaitNs)});
}

DeviceTurn::Answer DeviceTurn::ask(std::int64_t again_ns) noexcept {
  if (held_ && is_current()) return Answer::ours;
  if (!open()) return Answer::no_lock;
  const std::int64_t now_ns = monotonic_ns();
  if (!lock(F_WRLCK)) {
    if (errno != EACCES && errno != EAGAIN) return Answer::no_lock;  // a file system without locks
    wait_from(now_ns, again_ns);
    return Answer::others;
  }
  if (!is_current()) {  // removed between the two
    close();
    return Answer::others;
  }
  Waiter waiters[kPlaces] = {};
  (void)read(waiters);
  const std::int64_t since_ns = waiting_since_ns_ != 0 ? waiting_since_ns_ : now_ns;
  const bool other_first = std::any_of(std::begin(waiters), std::end(waiters), [&](const Waiter& w) {
    return w.id != 0 && w.id != id_ && (w.since_ns < since_ns || (w.since_ns == since_ns && w.id < id_));
  });
  if (other_first) {
    lock(F_UNLCK);
    wait_from(now_ns, again_ns);
    return Answer::after_other;
  }
  held_ = true;
  withdraw();
  return Answer::ours;
}

bool DeviceTurn::others_wait() noexcept {
  if (file_ < 0 || !is_current()) return false;
  Waiter waiters[kPlaces];
  return read(waiters) && std::any_of(std::begin(waiters), std::end(waiters),
                                      [&](const Waiter& w) { return w.id != 0 && w.id != id_; });
}

pid_t DeviceTurn::holder() noexcept {
  if (held_ || file_ < 0) return 0;
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return fcntl(file_, F_GETLK, &range) == 0 && range.l_type != F_UNLCK ? std::max<pid_t>(range.l_pid, 0) : 0;
}

void DeviceTurn::withdraw() noexcept {
  if (waiting_since_ns_ != 0 && file_ >= 0) {
    Waiter waiters[kPlaces];
    if (read(waiters))
      for (int place = 0; place < kPlaces; ++place)
        if (waiters[place].id == id_) write(place, {});
  }
  waiting_since_ns_ = 0;
  if (!held_) close();
}

void DeviceTurn::release() noexcept {
  if (!held_) return;
  struct stat status {};
  if (fstat(file_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) lock(F_UNLCK);
  held_ = false;
  close();
}

}  // namespace ridgeline::agent
