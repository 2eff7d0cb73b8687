// what_if_choice.h: which kernels are to be faster by how much, and what else: what the panel "What if" is moved to.
// No window.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/whatif/what_if.h"

namespace ridgeline::gui {

class WhatIfChoice {
 public:
  static constexpr double kMaxTimes = 4;

  struct Kernel {
    std::string name;       ///< demangled
    double time_ns = 0;     ///< in the step
    double step_share = 0;  ///< 0 to 1
    double times = 1;       ///< so much faster, 1 to kMaxTimes
  };

  /// The kernels of a ranking by the time they take, at most `most`; none is faster yet.
  void set_kernels(const analyzer::Ranking& ranking, std::size_t most);
  [[nodiscard]] const std::vector<Kernel>& kernels() const { return kernels_; }

  /// Cut to what is allowed.
  void set_times(std::size_t kernel, double times);
  void set_graph(bool yes) { graph_ = yes; }
  void set_hide_copies(bool yes) { hide_copies_ = yes; }
  [[nodiscard]] bool graph() const { return graph_; }
  [[nodiscard]] bool hide_copies() const { return hide_copies_; }
  void reset();

  /// Nothing is otherwise.
  [[nodiscard]] bool empty() const;
  [[nodiscard]] analyzer::WhatIfRequest request() const;

 private:
  std::vector<Kernel> kernels_;
  bool graph_ = false;
  bool hide_copies_ = false;
};

}  // namespace ridgeline::gui
