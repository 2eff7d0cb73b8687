#include "gpt2/ranks/launch.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gpt2/ranks/hub.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kRoundMs = 200;
constexpr double kTermSeconds = 2;
constexpr double kKillSeconds = 5;

struct Child {
  pid_t pid = -1;
  bool running = true;
};

class Parent {
 public:
  Parent(int size, const RollLimits& limits) : hub_(size, limits, false) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&wanted, signal);
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    signals_ = Socket(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals_.open()) throw std::runtime_error(fmt::format("signalfd failed: {}", std::strerror(errno)));
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;
  ~Parent() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // In the child it does not return.
  void fork_rank(const RankPlace& place, const std::function<int(RankLink&)>& rank_main) {
    auto [ours, theirs] = socket_pair();
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
      const std::string reason = std::strerror(errno);
      end_children();
      throw std::runtime_error(fmt::format("fork of rank {} failed: {}", place.rank, reason));
    }
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kRankLostExitCode);
      sigprocmask(SIG_SETMASK, &before_, nullptr);
      ours.close();
      hub_.close_all();
      signals_.close();
      children_.clear();
      int code = kRankLostExitCode;
      {
        RankLink link(place, std::move(theirs));
        code = rank_main(link);
      }
      std::exit(code);
    }
    children_.push_back({pid, true});
    hub_.add(place.rank, std::move(ours));
  }

  int watch() {
    for (;;) {
      hub_.round(kRoundMs, signals_.fd());
      if (const auto signal = reap()) return end_by(*signal);
      if (const auto verdict = hub_.failed()) {
        (void)std::fflush(stdout);
        std::fprintf(stderr, "gpt2_train: %s\n", verdict->cause.c_str());
        end_children();
        return verdict->exit_code;
      }
      if (none_running() && hub_.roll().all_left()) return 0;  // else a verdict is about to be due
    }
  }

 private:
  bool none_running() const {
    return std::none_of(children_.begin(), children_.end(), [](const Child& c) { return c.running; });
  }

  // Notes the children that have ended; a signal that ends the parent, if one has come.
  std::optional<int> reap() {
    std::optional<int> ending;
    signalfd_siginfo info{};
    while (::read(signals_.fd(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGCHLD) ending = static_cast<int>(info.ssi_signo);
    }
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      int status = 0;
      if (!children_[rank].running || ::waitpid(children_[rank].pid, &status, WNOHANG) <= 0) continue;
      children_[rank].running = false;
      hub_.round(0);  // what it has said before
      note_end(static_cast<int>(rank), status);
    }
    return ending;
  }

  void note_end(int rank, int status) {
    if (WIFSIGNALED(status)) {
      hub_.roll().ended(
          rank, fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))),
          steady_seconds());
    } else {
      hub_.roll().ended(rank, fmt::format("ended with exit code {}", WEXITSTATUS(status)), steady_seconds());
    }
  }

  void signal_all(int signal) {
    for (const Child& child : children_) {
      if (child.running) (void)::kill(child.pid, signal);
    }
  }

  bool wait_for_all(double seconds) {
    const double until_s = steady_seconds() + seconds;
    while (!none_running() && steady_seconds() < until_s) {
      for (Child& child : children_) {
        int status = 0;
        if (child.running && ::waitpid(child.pid, &status, WNOHANG) > 0) child.running = false;
      }
      if (!none_running()) ::usleep(20000);
    }
    return none_running();
  }

  void end_children() {
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // one that is stopped cannot end otherwise
    if (wait_for_all(kTermSeconds)) return;
    signal_all(SIGKILL);
    if (wait_for_all(kKillSeconds)) return;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      if (!children_[rank].running) continue;
      std::fprintf(stderr, "gpt2_train: rank %zu (process %d) has not ended: its GPU may hang\n", rank,
                   static_cast<int>(children_[rank].pid));
    }
  }

  int end_by(int signal) {
    end_children();
    (void)std::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    (void)::raise(signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    return 128 + signal;
  }

  Hub hub_;
  sigset_t before_{};
  Socket signals_;
  std::vector<Child> children_;
};

}  // namespace

int run_forked_ranks(int size, const RollLimits& limits,
                     const std::function<int(RankLink& link)>& rank_main) {
  (void)std::fflush(stdout);
  (void)std::fflush(stderr);
  Parent parent(size, limits);
  for (int rank = 0; rank < size; ++rank) {
    parent.fork_rank({.rank = rank, .size = size, .local_rank = rank}, rank_main);
  }
  return parent.watch();
}

}  // namespace ridgeline::gpt2
