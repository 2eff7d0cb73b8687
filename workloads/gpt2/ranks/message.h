// message.h: what ranks and the one that watches them tell each other: frames of one size over a stream socket.
// All ends are the same program on machines of one byte order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ridgeline::gpt2 {

/// What a rank is at.
enum class RankPhase : std::int32_t {
  starting,   // no CUDA context yet
  joining,    // in the communicator's creation
  preparing,  // loads, and runs its first steps, in which libraries build their plans
  training,   // steps, as the other ranks do
  aside,      // a checkpoint, a sample or a validation: others may have to wait for it
  leaving,    // done
};

/// A communicator's identity, as its library makes it.
using CommunicatorId = std::array<std::byte, 128>;

enum class MessageKind : std::uint32_t {
  hello,     // rank -> hub: rank and, in `step`, the job's size
  identity,  // rank 0 -> hub -> ranks: the communicator's in `text`
  beat,      // rank -> hub, twice a second: phase and step
  failure,   // rank -> hub: it has failed by itself; exit code and cause
  lost,      // rank -> hub: it has seen that another one is gone; cause
  leave,     // rank -> hub: it is done
  end,       // hub -> ranks: the job has failed; exit code and cause
};

struct Message {
  static constexpr std::uint32_t kMagic = 0x314B4E52;  // "RNK1"
  static constexpr std::size_t kTextBytes = 480;

  std::uint32_t magic = kMagic;
  MessageKind kind = MessageKind::beat;
  std::int32_t rank = 0;
  std::int32_t code = 0;  // a phase or an exit code
  std::int64_t step = 0;
  std::int64_t unused = 0;
  std::array<char, kTextBytes> text{};  // ends with a zero, or is an identity

  RankPhase phase() const { return static_cast<RankPhase>(code); }
  std::string words() const;
  /// What is too long loses its end.
  void say(const std::string& words);
};
static_assert(sizeof(Message) == 512);

}  // namespace ridgeline::gpt2
