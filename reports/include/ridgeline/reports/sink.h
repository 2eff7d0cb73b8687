// sink.h: where a document goes, piece by piece, so that a long one is never held in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ridgeline::reports {

/// Takes the next piece. Throws if it cannot.
using Sink = std::function<void(std::string_view)>;

/// A document that is written when it is asked for. Refers to what it was made from, which must outlive it.
class Document {
 public:
  explicit Document(std::function<void(const Sink&)> write) : write_(std::move(write)) {}
  explicit Document(std::string text) : write_([text = std::move(text)](const Sink& out) { out(text); }) {}

  void write(const Sink& out) const { write_(out); }
  [[nodiscard]] std::string text() const {
    std::string all;
    write_([&](std::string_view piece) { all += piece; });
    return all;
  }

 private:
  std::function<void(const Sink&)> write_;
};

}  // namespace ridgeline::reports
