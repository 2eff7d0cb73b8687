// scratch.h: tensors in device memory with their shape and type, and memory that several of them have in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace ridgeline::gpt2 {

/// A dense row-major tensor in device memory; it owns nothing.
template <typename E>
struct Matrix {
  E* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t elements() const { return rows * columns; }
  operator Matrix<const E>() const  // NOLINT(google-explicit-constructor): as a pointer converts
      requires(!std::is_const_v<E>) {
    return {data, rows, columns};
  }
};

/// What scratch holds, each from where it is begun to where something else is.
namespace live {
inline constexpr std::string_view nothing = "nothing";
inline constexpr std::string_view projection = "what attproj or fcproj yields";
inline constexpr std::string_view normalised = "a layernorm's output";
inline constexpr std::string_view normalized_gradient = "the gradient of a layernorm's or attention's output";
inline constexpr std::string_view residual_gradient = "the gradient on the residual stream";
inline constexpr std::string_view qkv = "queries, keys and values";
inline constexpr std::string_view qkv_gradient = "the gradient of queries, keys and values";
inline constexpr std::string_view gelu = "GELU's output";
inline constexpr std::string_view gelu_gradient = "the gradient of GELU's output";
inline constexpr std::string_view hidden_gradient = "the gradient of GELU's argument";
inline constexpr std::string_view attended = "attention's output";
inline constexpr std::string_view logits = "logits";
inline constexpr std::string_view logits_gradient = "the gradient of the logits";
}  // namespace live

/// Memory that tensors of different meaning, shape and type have in turn. Who reads one says which: another one there
/// is a std::logic_error that names both.
class Scratch {
 public:
  Scratch() = default;
  Scratch(std::byte* memory, std::int64_t bytes) : memory_(memory), bytes_(bytes) {}

  /// From now on `name` is here, to be written; what was before is over.
  template <typename E>
  Matrix<E> begin(std::string_view name, std::int64_t rows, std::int64_t columns) {
    if (rows * columns * static_cast<std::int64_t>(sizeof(E)) > bytes_) {
      throw std::logic_error("scratch has no room for " + std::string(name));
    }
    holds_ = name;
    element_bytes_ = sizeof(E);
    rows_ = rows;
    columns_ = columns;
    return {reinterpret_cast<E*>(memory_), rows, columns};
  }

  /// `name` as it was begun.
  template <typename E>
  Matrix<E> get(std::string_view name) const {
    if (holds_ != name || element_bytes_ != sizeof(E)) {
      throw std::logic_error("scratch holds " + std::string(holds_) + " where " + std::string(name) +
                             " is asked for");
    }
    return {reinterpret_cast<E*>(memory_), rows_, columns_};
  }

  /// What is `from` has been overwritten where it lies, and is `to`.
  void become(std::string_view from, std::string_view to) {
    if (holds_ != from) {
      throw std::logic_error("scratch holds " + std::string(holds_) + " where " + std::string(from) +
                             " is to become " + std::string(to));
    }
    holds_ = to;
  }

 private:
  std::byte* memory_ = nullptr;
  std::int64_t bytes_ = 0;
  std::string_view holds_ = live::nothing;
  std::size_t element_bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace ridgeline::gpt2
