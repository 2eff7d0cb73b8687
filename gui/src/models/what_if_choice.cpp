#include "models/what_if_choice.h"

#include <algorithm>

namespace ridgeline::gui {

void WhatIfChoice::set_kernels(const analyzer::Ranking& ranking, std::size_t most) {
  kernels_.clear();
  for (const std::size_t row : analyzer::rows_by_time(ranking)) {
    const analyzer::RankingRow& from = ranking.rows[row];
    // Kernels of one name differ by their code alone: one pattern means them all.
    const auto same = std::find_if(kernels_.begin(), kernels_.end(),
                                   [&](const Kernel& known) { return known.name == from.kernel; });
    if (same != kernels_.end()) {
      same->time_ns += static_cast<double>(from.time_ns);
      same->step_share += from.step_share;
    } else if (kernels_.size() < most) {
      kernels_.push_back({from.kernel, static_cast<double>(from.time_ns), from.step_share, 1});
    }
  }
}

void WhatIfChoice::set_times(std::size_t kernel, double times) {
  kernels_.at(kernel).times = std::clamp(times, 1.0, kMaxTimes);
}

void WhatIfChoice::reset() {
  for (Kernel& kernel : kernels_) kernel.times = 1;
  graph_ = hide_copies_ = false;
}

bool WhatIfChoice::empty() const {
  return request().transforms.empty();
}

analyzer::WhatIfRequest WhatIfChoice::request() const {
  analyzer::WhatIfRequest request;
  for (const Kernel& kernel : kernels_) {
    if (kernel.times > 1) request.transforms.emplace_back(analyzer::Faster{kernel.name, kernel.times});
  }
  if (graph_) request.transforms.emplace_back(analyzer::AsGraph{});
  if (hide_copies_) request.transforms.emplace_back(analyzer::HiddenCopies{});
  return request;
}

}  // namespace ridgeline::gui
