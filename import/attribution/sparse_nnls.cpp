#include "attribution/sparse_nnls.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::import {

namespace {
constexpr std::size_t kMergeAt = 4'000'000;  // triplets before those of the same place are added up
constexpr double kGoodEnough = 1e-9;
}  // namespace

void SparseGram::add(std::span<const Entry> row, double weight) {
  for (const Entry& left : row) {
    for (const Entry& right : row) {
      const double value = weight * left.value * right.value;
      if (left.column == right.column) {
        diagonal_[left.column] += value;
      } else {
        building_.push_back({static_cast<std::uint64_t>(left.column) << 32 | right.column, value});
      }
    }
  }
  if (building_.size() > 2 * merged_ + kMergeAt) merge();
}

void SparseGram::merge() {
  std::sort(building_.begin(), building_.end(),
            [](const Triplet& a, const Triplet& b) { return a.place < b.place; });
  std::size_t kept = 0;
  for (const Triplet& each : building_) {
    if (kept > 0 && building_[kept - 1].place == each.place) {
      building_[kept - 1].value += each.value;
    } else {
      building_[kept++] = each;
    }
  }
  building_.resize(kept);
  merged_ = kept;
}

void SparseGram::seal() {
  merge();
  first_.assign(size() + 1, 0);
  entries_.clear();
  entries_.reserve(building_.size());
  for (const Triplet& each : building_) {
    ++first_[(each.place >> 32) + 1];
    entries_.push_back({static_cast<std::uint32_t>(each.place), each.value});
  }
  for (std::size_t row = 0; row < size(); ++row) first_[row + 1] += first_[row];
  building_ = {};
}

NnlsReport solve_nnls(const SparseGram& gram, std::span<const double> b, std::span<double> x,
                      int max_sweeps) {
  NnlsReport report;
  double scale = 0;
  for (const double each : b) scale = std::max(scale, std::abs(each));
  if (scale == 0) {
    std::fill(x.begin(), x.end(), 0.0);
    return report;
  }
  for (; report.sweeps < max_sweeps; ++report.sweeps) {
    double worst = 0;
    for (std::size_t j = 0; j < gram.size(); ++j) {
      const double diagonal = gram.diagonal(j);
      if (diagonal <= 0) {
        x[j] = 0;
        continue;
      }
      double gradient = diagonal * x[j] - b[j];
      for (const SparseGram::Entry& entry : gram.row(j)) gradient += entry.value * x[entry.column];
      if (x[j] > 0 || gradient < 0) worst = std::max(worst, std::abs(gradient));
      x[j] = std::max(0.0, x[j] - gradient / diagonal);
    }
    report.violation = worst / scale;
    if (report.violation < kGoodEnough) break;
  }
  return report;
}

double inverse_form(const SparseGram& gram, std::span<const std::uint32_t> at, std::span<const double> w,
                    int reach, std::size_t most) {
  std::vector<std::uint32_t> near(at.begin(), at.end());
  for (std::size_t ring = 0; reach > 0; --reach) {
    const std::size_t end = near.size();
    for (; ring < end; ++ring) {
      for (const SparseGram::Entry& entry : gram.row(near[ring])) {
        if (near.size() >= most) break;
        if (std::find(near.begin(), near.end(), entry.column) == near.end()) near.push_back(entry.column);
      }
    }
  }
  // Cholesky of the part of G; then |L⁻¹w|².
  const std::size_t n = near.size();
  std::vector<double> lower(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    lower[i * n + i] = gram.diagonal(near[i]);
    for (const SparseGram::Entry& entry : gram.row(near[i])) {
      const auto found = std::find(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(i), entry.column);
      if (found != near.begin() + static_cast<std::ptrdiff_t>(i)) {
        lower[i * n + static_cast<std::size_t>(found - near.begin())] = entry.value;
      }
    }
  }
  std::vector<double> y(n, 0.0);
  for (std::size_t i = 0; i < at.size(); ++i) y[i] = w[i];
  double form = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = lower[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
      if (i == j) {
        if (sum <= 0) return HUGE_VAL;
        lower[i * n + i] = std::sqrt(sum);
      } else {
        lower[i * n + j] = sum / lower[j * n + j];
      }
    }
    for (std::size_t k = 0; k < i; ++k) y[i] -= lower[i * n + k] * y[k];
    y[i] /= lower[i * n + i];
    form += y[i] * y[i];
  }
  return form;
}

}  // namespace ridgeline::import
