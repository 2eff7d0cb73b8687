#include "ranks/matching.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ridgeline::analyzer::ranks {

namespace {

using Calls = std::vector<std::size_t>;        // places in Job::calls
constexpr std::size_t kMaxFitted = 4'000'000;  // cells of the table

class Group {
 public:
  Group(const JobView& view, std::int64_t step, std::vector<std::pair<std::size_t, Calls>> of_ranks)
      : view_(view), step_(step), of_ranks_(std::move(of_ranks)) {}

  void match(Matching& matching) const {
    const Calls& model = consensus();
    std::vector<MatchedCollective> matched(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      matched[i].site_id = call(model[i]).site_id;
      matched[i].step_index = step_;
      matched[i].place = static_cast<std::int64_t>(i);
      matched[i].calls.assign(view_.ranks(), kNoCall);
    }
    for (const auto& [rank, calls] : of_ranks_) {
      const std::vector<std::int64_t> fit = fitted(model, calls);
      for (std::size_t i = 0; i < model.size(); ++i) {
        if (fit[i] == kNoCall) continue;
        matched[i].calls[rank] = static_cast<std::int64_t>(calls[static_cast<std::size_t>(fit[i])]);
        ++matched[i].ranks;
      }
      note(rank, model, calls, fit, matching);
    }
    std::move(matched.begin(), matched.end(), std::back_inserter(matching.collectives));
  }

 private:
  [[nodiscard]] const store::JobCall& call(std::size_t at) const { return view_.job().calls[at]; }

  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    const store::JobCall& one = call(a);
    const store::JobCall& other = call(b);
    if (one.site_id != other.site_id) return false;
    return !one.ordinal || !other.ordinal || *one.ordinal == *other.ordinal;
  }
  [[nodiscard]] bool same(const Calls& a, const Calls& b) const {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [&](std::size_t x, std::size_t y) { return alike(x, y); });
  }

  // The sequence of most ranks; of the lowest rank where two are as frequent.
  [[nodiscard]] const Calls& consensus() const {
    std::vector<std::pair<const Calls*, std::size_t>> kinds;
    for (const auto& [rank, calls] : of_ranks_) {
      const auto known = std::find_if(kinds.begin(), kinds.end(),
                                      [&, &own = calls](const auto& kind) { return same(*kind.first, own); });
      if (known == kinds.end()) {
        kinds.emplace_back(&calls, 1);
      } else {
        ++known->second;
      }
    }
    return *std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
              return a.second < b.second;
            })->first;
  }

  // Of each call of the model the place of the rank's own.
  [[nodiscard]] std::vector<std::int64_t> fitted(const Calls& model, const Calls& own) const {
    std::vector<std::int64_t> fit(model.size(), kNoCall);
    if (same(model, own)) {
      for (std::size_t i = 0; i < model.size(); ++i) fit[i] = static_cast<std::int64_t>(i);
      return fit;
    }
    const std::size_t width = own.size() + 1;
    if ((model.size() + 1) * width > kMaxFitted) return fit;
    std::vector<std::uint32_t> length((model.size() + 1) * width, 0);  // of the rests' common subsequence
    for (std::size_t i = model.size(); i-- > 0;) {
      for (std::size_t j = own.size(); j-- > 0;) {
        length[i * width + j] = alike(model[i], own[j])
                                    ? length[(i + 1) * width + j + 1] + 1
                                    : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < model.size() && j < own.size()) {
      if (alike(model[i], own[j])) {
        fit[i++] = static_cast<std::int64_t>(j++);
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
    return fit;
  }

  void note(std::size_t rank, const Calls& model, const Calls& own, const std::vector<std::int64_t>& fit,
            Matching& matching) const {
    std::vector<bool> used(own.size(), false);
    std::vector<store::Id> missing;
    std::vector<store::Id> extra;
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (fit[i] == kNoCall)
        missing.push_back(call(model[i]).site_id);
      else
        used[static_cast<std::size_t>(fit[i])] = true;
    }
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (!used[j]) extra.push_back(call(own[j]).site_id);
    }
    if (missing.empty() && extra.empty()) return;
    std::sort(missing.begin(), missing.end());
    std::sort(extra.begin(), extra.end());
    CallMismatch mismatch;
    mismatch.rank = view_.job().ranks[rank].rank;
    mismatch.step_index = step_;
    mismatch.missing = static_cast<std::int64_t>(missing.size());
    mismatch.extra = static_cast<std::int64_t>(extra.size());
    mismatch.kind = extra.empty()      ? MismatchKind::lost
                    : missing.empty()  ? MismatchKind::extra
                    : missing == extra ? MismatchKind::reordered
                                       : MismatchKind::different;
    matching.mismatches.push_back(mismatch);
  }

  const JobView& view_;
  std::int64_t step_;
  std::vector<std::pair<std::size_t, Calls>> of_ranks_;
};

}  // namespace

Matching match_calls(const JobView& view) {
  const store::Job& job = view.job();
  std::unordered_map<store::Id, store::Id> groups;
  for (const store::JobSite& site : job.sites) groups[site.id] = site.communicator_id;
  std::unordered_map<store::Id, std::vector<bool>> members;
  std::map<std::pair<std::int64_t, store::Id>, std::map<std::size_t, Calls>> sequences;
  for (std::size_t i = 0; i < job.calls.size(); ++i) {
    const std::size_t rank = view.place_of(job.calls[i].rank);
    const store::Id group = groups.at(job.calls[i].site_id);
    auto& of_group = members[group];
    of_group.resize(view.ranks());
    of_group[rank] = true;
    sequences[{job.calls[i].step_index, group}][rank].push_back(i);
  }
  Matching matching;
  for (auto& [key, of_ranks] : sequences) {
    // A member without a call here has lost them all, if it has the step.
    const auto& of_group = members.at(key.second);
    const bool common = std::binary_search(view.steps().begin(), view.steps().end(), key.first);
    std::vector<std::pair<std::size_t, Calls>> all;
    for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
      const auto own = of_ranks.find(rank);
      if (own != of_ranks.end())
        all.emplace_back(rank, std::move(own->second));
      else if (of_group[rank] && common)
        all.emplace_back(rank, Calls{});
    }
    Group(view, key.first, std::move(all)).match(matching);
  }
  return matching;
}

}  // namespace ridgeline::analyzer::ranks
