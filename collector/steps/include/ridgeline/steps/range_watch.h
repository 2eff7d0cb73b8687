/// range_watch.h: which of a program's outermost NVTX ranges are its steps: those of one name, numbers in it aside
/// ("Train step 63/64"), that come again and again on one thread and have nearly all launches in them. Ranges of
/// another name take their place if they stop coming: those in which a compiler tries kernels before the first step. A
/// compiler that does so on many threads at once has ranges of one name on all of them.
/// Memory of fixed size, no exceptions; the caller sees to it that one thread at a time is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ridgeline::steps {

/// A name with "#" for each number in it, cut to a length that serves to tell names apart.
class FoldedName {
 public:
  static constexpr std::size_t kMaxBytes = 120;
  FoldedName() noexcept = default;
  explicit FoldedName(std::string_view name) noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }
  bool operator==(const FoldedName& other) const noexcept { return text() == other.text(); }

 private:
  char text_[kMaxBytes];
  std::size_t size_ = 0;
};

class RangeWatch {
 public:
  static constexpr std::uint32_t kMinRanges = 3;
  /// In a row on one thread, of a name that came on several.
  static constexpr std::uint32_t kMinOfSeveralThreads = 100;
  /// To take the place of steps that were found before: so many in a row without one of these, and as many as there
  /// were of these, or as much time. An evaluation in the midst of training has less, or gives way again.
  static constexpr std::uint32_t kMinInPlace = 10;
  /// Share of the launches since the first of the ranges that are in one of them.
  static constexpr double kMinShare = 0.8;
  static constexpr std::int64_t kShortestNs = 200'000;  ///< of a range, on average

  struct Found {
    FoldedName name;
    std::uint32_t ranges = 0;
    double share = 0;           ///< of the launches, 0..1
    std::int64_t usual_ns = 0;  ///< of a range, on average
  };

  /// An outermost range of this thread begins, after `launches` of the process.
  void begin(std::string_view name, std::uint32_t thread_id, std::uint64_t launches,
             std::int64_t now_ns) noexcept;
  /// The outermost range of this thread ends. True if its name is that of the steps. `settled`: what was measured of
  /// the steps that were found before is complete, and given up only for what came as often and took as long.
  bool end(std::uint32_t thread_id, std::uint64_t launches, std::int64_t now_ns, Found* found,
           bool settled = false) noexcept;
  /// What end() found are the steps from now on: from others more is wanted.
  void take(const Found& found) noexcept {
    steps_ = found.ranges;
    step_ns_ = found.usual_ns;
    count_ = 0;
  }
  /// A step begins, with a range of the name that was taken, after `launches`: the others are counted anew from here.
  void step(std::uint64_t launches) noexcept;
  /// Another window of the recording begins. Steps that were found are still those until others take their place.
  void restart() noexcept {
    count_ = 0;
    steps_ = steps_ > 0 ? 1 : 0;
  }

 private:
  struct Series {  // of ranges of one name, the latest in a row on one thread
    FoldedName name;
    std::uint32_t thread_id = 0, ranges = 0, empty = 0;
    bool open = false, of_several = false;
    std::uint64_t first = 0, begin = 0, inside = 0;  // launches
    std::int64_t start_ns = 0, ns = 0;
  };
  static constexpr std::size_t kMaxSeries = 24;
  Series series_[kMaxSeries];
  std::size_t count_ = 0;
  bool is_enough(const Series& series, bool settled) const noexcept;

  std::uint32_t steps_ = 0;   // ranges of the name that was taken; 0: none was
  std::int64_t step_ns_ = 0;  // such a one took on average
};

}  // namespace ridgeline::steps
