// link.h: a rank's side of the job: says twice a second that it lives and where it is, and ends the process when the
// job has failed, whatever its other threads hang in.
//
// Lifecycle: construct -> { enter, step, fail } from the training thread -> leave -> destroy.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gpt2/ranks/message.h"
#include "gpt2/ranks/place.h"
#include "gpt2/ranks/roll.h"
#include "gpt2/ranks/sockets.h"

namespace ridgeline::gpt2 {

class Hub;

class RankLink {
 public:
  /// Of a rank that was forked: the parent prints why a job ends, and ends the ranks.
  RankLink(const RankPlace& place, Socket to_parent);
  /// Of a rank that a launcher started: meets the others at place.host. Rank 0 is waited for until it listens, and
  /// watches all of them in a thread of its own. Throws EnvironmentError.
  RankLink(const RankPlace& place, const RollLimits& limits);
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  ~RankLink();

  [[nodiscard]] const RankPlace& place() const { return place_; }

  void enter(RankPhase phase);
  /// It begins this step.
  void step(std::int64_t step) { step_ = step; }

  /// Rank 0's, for all others.
  void publish(const CommunicatorId& id);
  /// What rank 0 has published. Waits; that rank 0 never does so ends the process.
  CommunicatorId published();

  /// Called twice a second from the link's thread; what it returns, unless empty, is that another rank is gone. Returns
  /// when the function before is not running any more; an empty one ends it.
  void watch(std::function<std::string()> others_lost);

  /// Says that this rank has failed and ends its process at once: no destructor may wait for ranks that are gone.
  [[noreturn]] void fail(int exit_code, const std::string& cause);
  /// The run is done. Rank 0 waits a few seconds for the others to say so too.
  void leave();

 private:
  void begin();
  void run();
  void beat();
  void take(const Message& message);
  void send(MessageKind kind, int code, const std::string& text);
  [[noreturn]] void end_process(int exit_code, const std::string& line) const;
  static void run_hub(Hub& hub, const std::atomic<bool>& stop);

  RankPlace place_;
  bool forked_;
  Socket socket_;
  std::mutex sending_;

  std::unique_ptr<Hub> hub_;  // of rank 0 where there is no parent
  std::atomic<bool> stop_hub_ = false;
  std::thread hub_thread_;

  std::atomic<RankPhase> phase_ = RankPhase::starting;
  std::atomic<std::int64_t> step_ = -1;
  std::atomic<bool> failing_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<bool> stop_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<CommunicatorId> id_;
  std::mutex probing_;
  std::function<std::string()> others_lost_;
  bool told_lost_ = false;
  bool ended_by_hub_ = false;  // while failing
  MessageReader reader_;
  std::thread thread_;
};

}  // namespace ridgeline::gpt2
