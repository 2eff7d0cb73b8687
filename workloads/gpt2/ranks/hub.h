// hub.h: the one that watches the ranks of a job: the parent of forked ranks, or a thread of rank 0.
//
// Lifecycle: construct -> add() each rank's socket, or listen() -> round() until failed() says why the job ends, or all
// have left -> end_all(). One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/ranks/roll.h"
#include "gpt2/ranks/sockets.h"

namespace ridgeline::gpt2 {

/// Seconds of the steady clock.
double steady_seconds();

class Hub {
 public:
  /// closed_means_ended: nothing else tells of a rank's end. Not so for a parent, which learns how its children ended.
  Hub(int size, const RollLimits& limits, bool closed_means_ended);

  void add(int rank, Socket socket);
  /// Ranks come by themselves and say who they are.
  void listen(Socket listener);

  /// Waits up to `timeout_ms` for what ranks say, or until `wake_fd` can be read, and takes it in.
  void round(int timeout_ms, int wake_fd = -1);

  Roll& roll() { return roll_; }
  std::optional<Verdict> failed() const { return roll_.verdict(steady_seconds()); }
  /// Tells every rank.
  void end_all(const Verdict& verdict);
  /// Closes every socket: for a child that has inherited them.
  void close_all();

 private:
  struct Peer {
    int rank = -1;  // not known yet
    Socket socket;
    MessageReader reader;
  };

  void read(Peer& peer);
  void take(Peer& peer, const Message& message);
  void greet(Peer& peer, const Message& message);
  void share_identity();

  bool closed_means_ended_;
  Roll roll_;
  Socket listener_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::optional<Message> identity_;
};

}  // namespace ridgeline::gpt2
