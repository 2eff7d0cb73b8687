#include "ceilings/core/energy_model.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::ceilings {

namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double kSingular = 1e-10;  // of a pivot, where columns are scaled to a largest value of 1

// Gauss and Jordan with pivots; empty if the matrix is singular.
std::optional<Matrix> inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix out(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) out[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row) {
      if (std::fabs(a[row][column]) > std::fabs(a[pivot][column])) pivot = row;
    }
    if (std::fabs(a[pivot][column]) < kSingular) return std::nullopt;
    std::swap(a[pivot], a[column]);
    std::swap(out[pivot], out[column]);
    const double by = a[column][column];
    for (std::size_t k = 0; k < n; ++k) {
      a[column][k] /= by;
      out[column][k] /= by;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = row == column ? 0 : a[row][column];
      if (factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[row][k] -= factor * a[column][k];
        out[row][k] -= factor * out[column][k];
      }
    }
  }
  return out;
}

double rate_of(const EnergyPoint& point, const std::string& term) {
  const auto found = point.per_s.find(term);
  return found == point.per_s.end() ? 0 : found->second;
}

}  // namespace

double EnergyModel::watts(const std::map<std::string, double>& per_s) const {
  double sum = idle_w;
  for (const EnergyTerm& term : terms) {
    if (const auto rate = per_s.find(term.name); rate != per_s.end()) sum += term.joules * rate->second;
  }
  return sum;
}

std::optional<EnergyModel> fit_energy(const std::vector<EnergyPoint>& points) {
  std::map<std::string, double> largest;  // of each term's rates
  for (const EnergyPoint& point : points) {
    for (const auto& [term, rate] : point.per_s) {
      if (rate > 0) largest[term] = std::max(largest[term], rate);
    }
  }
  const std::size_t unknowns = largest.size() + 1;
  if (largest.empty() || points.size() < unknowns + 1) return std::nullopt;
  // Rows: 1 and each rate in parts of the largest.
  Matrix rows;
  for (const EnergyPoint& point : points) {
    std::vector<double> row = {1.0};
    for (const auto& [term, most] : largest) row.push_back(rate_of(point, term) / most);
    rows.push_back(std::move(row));
  }
  Matrix normal(unknowns, std::vector<double>(unknowns, 0.0));
  std::vector<double> right(unknowns, 0.0);
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (std::size_t i = 0; i < unknowns; ++i) {
      right[i] += rows[p][i] * points[p].watts;
      for (std::size_t j = 0; j < unknowns; ++j) normal[i][j] += rows[p][i] * rows[p][j];
    }
  }
  const std::optional<Matrix> inverted = inverse(normal);
  if (!inverted) return std::nullopt;
  std::vector<double> solution(unknowns, 0.0);
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j) solution[i] += (*inverted)[i][j] * right[j];
  }
  EnergyModel model;
  model.points = static_cast<int>(points.size());
  model.idle_w = solution[0];
  std::size_t i = 1;
  for (const auto& [term, most] : largest) {
    model.terms.push_back({term, solution[i] / most, 0});
    ++i;
  }
  double squares = 0;
  for (const EnergyPoint& point : points) {
    const double residual = point.watts - model.watts(point.per_s);
    squares += residual * residual;
    model.max_w = std::max(model.max_w, std::fabs(residual));
  }
  model.rms_w = std::sqrt(squares / static_cast<double>(points.size()));
  const double variance = squares / static_cast<double>(points.size() - unknowns);
  model.idle_error_w = std::sqrt(variance * (*inverted)[0][0]);
  i = 1;
  for (const auto& [term, most] : largest) {
    model.terms[i - 1].error = std::sqrt(variance * (*inverted)[i][i]) / most;
    ++i;
  }
  return model;
}

}  // namespace ridgeline::ceilings
