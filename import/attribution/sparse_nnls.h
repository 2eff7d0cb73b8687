// sparse_nnls.h: non-negative least squares by its sparse normal equations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ridgeline::import {

/// AᵀA, row by row. Build it with add() and seal() it.
class SparseGram {
 public:
  struct Entry {
    std::uint32_t column;
    double value;
  };
  explicit SparseGram(std::size_t size = 0) : diagonal_(size, 0.0) {}
  [[nodiscard]] std::size_t size() const { return diagonal_.size(); }

  /// Adds weight × row × rowᵀ. A column may occur several times in a row.
  void add(std::span<const Entry> row, double weight = 1);
  /// Adds to a diagonal element.
  void add_diagonal(std::uint32_t column, double value) { diagonal_[column] += value; }
  /// Ends the building: elements of the same place are added up.
  void seal();

  [[nodiscard]] double diagonal(std::size_t row) const { return diagonal_[row]; }
  /// Elements of a row off the diagonal, by column.
  [[nodiscard]] std::span<const Entry> row(std::size_t row) const {
    return {entries_.data() + first_[row], first_[row + 1] - first_[row]};
  }

 private:
  struct Triplet {
    std::uint64_t place;  // row << 32 | column
    double value;
  };
  void merge();
  std::vector<double> diagonal_;
  std::vector<Triplet> building_;
  std::size_t merged_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::size_t> first_;
};

struct NnlsReport {
  int sweeps = 0;
  /// Largest violation of optimality (gradient 0 where x > 0, not negative where x = 0), of the largest |b|.
  double violation = 0;
};

/// x >= 0 that minimises ½ xᵀGx − bᵀx, by coordinate descent from the x given. Unknowns with nothing on the
/// diagonal become 0. Stops at a violation of 1e-9 or after max_sweeps.
NnlsReport solve_nnls(const SparseGram& gram, std::span<const double> b, std::span<double> x,
                      int max_sweeps = 3000);

/// wᵀ(G⁻¹)w for a w that is not 0 at the unknowns `at` only, with the unknowns up to `reach` couplings away
/// solved for and those beyond taken as known. At most `most` unknowns take part, the nearest.
[[nodiscard]] double inverse_form(const SparseGram& gram, std::span<const std::uint32_t> at,
                                  std::span<const double> w, int reach = 3, std::size_t most = 40);

}  // namespace ridgeline::import
