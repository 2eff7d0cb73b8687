// shared_vector.h: a vector whose copies share their elements until one of them is changed.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ridgeline::analyzer {

/// For results with one element per launch: answers are handed on by value, and a step may have millions of launches.
/// Threads: as a std::vector; copies are independent of each other.
template <typename T>
class SharedVector {
 public:
  SharedVector() = default;
  SharedVector(std::vector<T> values)  // NOLINT: a vector is one
      : values_(std::make_shared<std::vector<T>>(std::move(values))) {}

  SharedVector(std::initializer_list<T> values) : SharedVector(std::vector<T>(values)) {}

  [[nodiscard]] std::size_t size() const { return values_->size(); }
  [[nodiscard]] bool empty() const { return values_->empty(); }
  [[nodiscard]] const T& operator[](std::size_t i) const { return (*values_)[i]; }
  [[nodiscard]] const T& at(std::size_t i) const { return values_->at(i); }
  [[nodiscard]] const T& front() const { return values_->front(); }
  [[nodiscard]] const T& back() const { return values_->back(); }
  [[nodiscard]] const T* data() const { return values_->data(); }
  [[nodiscard]] auto begin() const { return values_->cbegin(); }
  [[nodiscard]] auto end() const { return values_->cend(); }

  void push_back(T value) { own().push_back(std::move(value)); }
  void append(const SharedVector& other) {
    if (empty()) {
      *this = other;
    } else {
      own().insert(own().end(), other.begin(), other.end());
    }
  }
  template <typename Unwanted>
  void erase_if(const Unwanted& unwanted) {
    std::erase_if(own(), unwanted);
  }

 private:
  std::vector<T>& own() {
    if (values_.use_count() > 1) values_ = std::make_shared<std::vector<T>>(*values_);
    return *values_;
  }
  std::shared_ptr<std::vector<T>> values_ = std::make_shared<std::vector<T>>();
};

}  // namespace ridgeline::analyzer
