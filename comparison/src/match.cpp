#include "ridgeline/comparison/match.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "alignment.h"
#include "rule_pattern.h"

namespace ridgeline::comparison {
namespace {

using Sites = std::vector<std::uint32_t>;
constexpr std::uint32_t kFree = UINT32_MAX;

// Sites beyond which the alignment of a stream would take minutes.
constexpr std::size_t kMaxAligned = 4000;
// Of two sites that the alignment puts side by side.
constexpr double kMinSimilarity = 0.5;
constexpr double kMinTimeRatio = 0.1;

constexpr double kConfidenceRule = 1.0;
constexpr double kConfidenceExact = 1.0;
constexpr double kConfidenceOtherShape = 0.97;
constexpr double kConfidenceOtherPath = 0.9;
constexpr double kConfidenceCode = 0.95;
constexpr double kConfidenceFamily = 0.9;
constexpr double kConfidenceGroup = 0.6;
// Taken off where a key has several candidates and their order decides.
constexpr double kAmbiguity = 0.15;

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

// Jaccard's index; 1 for two empty texts.
double shared_words(std::string_view a, std::string_view b) {
  if (a == b) return 1;
  const auto of_a = words_of(a);
  const auto of_b = words_of(b);
  std::size_t both = 0;
  for (const std::string& word : of_a) both += of_b.count(word);
  const std::size_t all = of_a.size() + of_b.size() - both;
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t at = path.rfind(" / ");
  return at == std::string_view::npos ? std::string_view() : path.substr(0, at);
}

// Launch shape without registers and static shared memory, which belong to the code.
bool same_launch(const KernelSite& a, const KernelSite& b) {
  if (!a.shape || !b.shape) return !a.shape && !b.shape;
  return a.shape->grid == b.shape->grid && a.shape->block == b.shape->block &&
         a.shape->cluster == b.shape->cluster && a.shape->dynamic_smem_bytes == b.shape->dynamic_smem_bytes;
}

class Matcher {
 public:
  Matcher(const RunProfile& a, const RunProfile& b, bool families_only)
      : a_(a), b_(b), of_a_(a.sites.size(), kFree), of_b_(b.sites.size(), kFree) {
    result_.families_only = families_only;
  }

  // Throws Error(usage) for one that is no regular expression.
  void apply_rules(const std::vector<MatchRule>& rules) {
    for (const MatchRule& rule : rules) {
      const RulePattern kernel = RulePattern::compile(rule.kernel).value();
      const RulePattern path = RulePattern::compile(rule.path).value();
      for (std::uint32_t i = 0; i < of_a_.size(); ++i) {
        const KernelSite& site = a_.sites[i];
        if (of_a_[i] != kFree) continue;
        const std::optional<std::string> wanted = kernel.whole(site.kernel, rule.becomes);
        if (!wanted || (!rule.path.empty() && !path.found_in(site.path))) continue;
        const std::uint32_t other = best_free_b(site, [&](const KernelSite& candidate) {
          return candidate.kernel == *wanted || candidate.family == *wanted;
        });
        if (other != kFree) add({i}, {other}, MatchLevel::rule, kConfidenceRule);
      }
    }
  }

  void match_names() {
    using Key = std::tuple<std::string, std::string>;
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{s.path, s.kernel};
        },
        MatchLevel::exact, kConfidenceExact,
        [](const KernelSite& x, const KernelSite& y) { return same_launch(x, y) && x.code == y.code; });
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{s.path, s.kernel};
        },
        MatchLevel::exact, kConfidenceExact, same_launch);
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{s.path, s.kernel};
        },
        MatchLevel::exact, kConfidenceOtherShape);
    // The same code says more than the same name at another place.
    match_code(true);
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{"", s.kernel};
        },
        MatchLevel::exact, kConfidenceOtherPath, same_launch);
    match_code(false);
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{s.path, s.family};
        },
        MatchLevel::normalised, kConfidenceFamily);
    pair_by<Key>(
        [](const KernelSite& s) {
          return Key{std::string(parent_of(s.path)), s.family};
        },
        MatchLevel::normalised, kConfidenceFamily - kAmbiguity);
  }

  // Of different devices: the same family at the same place, else all that the place runs.
  void match_families() {
    using Key = std::tuple<std::string, std::string>;
    group_by<Key>([](const KernelSite& s) { return Key{s.path, s.family}; }, MatchLevel::normalised, 0.8);
    group_by<Key>(
        [](const KernelSite& s) {
          return s.path.empty() ? Key{"", std::string(to_string(s.kernel_class))} : Key{s.path, ""};
        },
        MatchLevel::group, 0.5);
  }

  void match_sequences() {
    std::set<int> streams;
    for (const KernelSite& site : a_.sites) streams.insert(site.stream);
    for (const int stream : streams) {
      const Sites a = of_stream(a_, stream);
      const Sites b = of_stream(b_, stream);
      if (!any_free(a, of_a_) || !any_free(b, of_b_) || a.size() > kMaxAligned || b.size() > kMaxAligned)
        continue;
      const auto columns =
          align(a.size(), b.size(), [&](std::size_t i, std::size_t j) { return score(a[i], b[j]); });
      take_similar(columns, a, b);
      take_blocks(columns, a, b);
    }
  }

  // A kernel whose calls went to, or came from, another of its class at the same place: an autotuner's choice for two
  // products has become one.
  void match_calls() { join_free(Join::calls); }

  void match_groups() { join_free(Join::changed); }

  Matching finish() {
    Matching& out = result_;
    double time_a = 0, time_b = 0, all_a = 0, all_b = 0;
    for (std::uint32_t i = 0; i < of_a_.size(); ++i) {
      all_a += a_.sites[i].time_ns;
      if (of_a_[i] == kFree)
        out.only_a.push_back(i);
      else
        time_a += a_.sites[i].time_ns;
    }
    for (std::uint32_t j = 0; j < of_b_.size(); ++j) {
      all_b += b_.sites[j].time_ns;
      if (of_b_[j] == kFree)
        out.only_b.push_back(j);
      else
        time_b += b_.sites[j].time_ns;
    }
    out.time_share_a = all_a > 0 ? time_a / all_a : 1;
    out.time_share_b = all_b > 0 ? time_b / all_b : 1;
    out.time_share = all_a + all_b > 0 ? (time_a + time_b) / (all_a + all_b) : 1;
    for (SiteMatch& match : out.matches) {
      std::sort(match.a.begin(), match.a.end());
      std::sort(match.b.begin(), match.b.end());
    }
    std::sort(out.matches.begin(), out.matches.end(),
              [](const SiteMatch& x, const SiteMatch& y) { return x.a.front() < y.a.front(); });
    return out;
  }

 private:
  void add(Sites a, Sites b, MatchLevel level, double confidence) {
    const auto index = static_cast<std::uint32_t>(result_.matches.size());
    for (const std::uint32_t i : a) of_a_[i] = index;
    for (const std::uint32_t j : b) of_b_[j] = index;
    result_.matches.push_back({std::move(a), std::move(b), level, confidence});
  }

  std::uint32_t best_free_b(const KernelSite& site,
                            const std::function<bool(const KernelSite&)>& accept) const {
    std::uint32_t best = kFree;
    double most = -1;
    for (std::uint32_t j = 0; j < of_b_.size(); ++j) {
      if (of_b_[j] != kFree || !accept(b_.sites[j])) continue;
      const double alike = site_similarity(site, b_.sites[j]);
      if (alike > most) {
        most = alike;
        best = j;
      }
    }
    return best;
  }

  template <typename Key, typename KeyOf>
  std::map<Key, std::pair<Sites, Sites>> buckets(KeyOf key_of) const {
    std::map<Key, std::pair<Sites, Sites>> found;
    for (std::uint32_t i = 0; i < of_a_.size(); ++i) {
      if (of_a_[i] == kFree) found[key_of(a_.sites[i])].first.push_back(i);
    }
    for (std::uint32_t j = 0; j < of_b_.size(); ++j) {
      if (of_b_[j] == kFree) found[key_of(b_.sites[j])].second.push_back(j);
    }
    return found;
  }

  // Pairs the free sites of equal keys, the most alike first.
  template <typename Key, typename KeyOf>
  void pair_by(KeyOf key_of, MatchLevel level, double confidence,
               const std::function<bool(const KernelSite&, const KernelSite&)>& accept = {}) {
    for (const auto& [key, sides] : buckets<Key>(key_of)) {
      const auto& [a, b] = sides;
      const bool single = a.size() == 1 && b.size() == 1;
      struct Candidate {
        double alike;
        std::uint32_t a, b;
      };
      std::vector<Candidate> candidates;
      for (const std::uint32_t i : a) {
        for (const std::uint32_t j : b) {
          if (accept && !accept(a_.sites[i], b_.sites[j])) continue;
          candidates.push_back({single ? 1 : likeness(a_.sites[i], b_.sites[j]), i, j});
        }
      }
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate& x, const Candidate& y) { return x.alike > y.alike; });
      for (const Candidate& candidate : candidates) {
        if (of_a_[candidate.a] != kFree || of_b_[candidate.b] != kFree) continue;
        const bool sure = single || (accept && confidence == kConfidenceExact);
        add({candidate.a}, {candidate.b}, level, sure ? confidence : confidence - kAmbiguity);
      }
    }
  }

  template <typename Key, typename KeyOf>
  void group_by(KeyOf key_of, MatchLevel level, double confidence) {
    for (const auto& [key, sides] : buckets<Key>(key_of)) {
      if (!sides.first.empty() && !sides.second.empty()) add(sides.first, sides.second, level, confidence);
    }
  }

  void match_code(bool same_path) {
    using Key = std::tuple<std::string, std::string>;
    for (const auto& [key, sides] : buckets<Key>([&](const KernelSite& s) {
           return Key{same_path ? s.path : "", s.code};
         })) {
      if (std::get<1>(key).empty()) continue;
      Sites b = sides.second;
      for (const std::uint32_t i : sides.first) {
        const auto best = std::max_element(b.begin(), b.end(), [&](std::uint32_t x, std::uint32_t y) {
          return likeness(a_.sites[i], b_.sites[x]) < likeness(a_.sites[i], b_.sites[y]);
        });
        if (best == b.end()) break;
        const bool renamed = a_.sites[i].kernel != b_.sites[*best].kernel;
        const double confidence = same_path ? kConfidenceCode : kConfidenceCode - 0.05;
        add({i}, {*best}, renamed ? MatchLevel::code : MatchLevel::exact,
            sides.first.size() == 1 && sides.second.size() == 1 ? confidence : confidence - kAmbiguity / 2);
        b.erase(best);
      }
    }
  }

  // With the launch and the time, for sites that nothing else tells apart.
  static double likeness(const KernelSite& a, const KernelSite& b) {
    const double per_call_a = a.calls > 0 ? a.time_ns / a.calls : 0;
    const double per_call_b = b.calls > 0 ? b.time_ns / b.calls : 0;
    const double more = std::max(per_call_a, per_call_b);
    const double time = more > 0 ? std::min(per_call_a, per_call_b) / more : 1;
    return site_similarity(a, b) + (same_launch(a, b) ? 0.5 : 0) + 0.2 * time;
  }

  static Sites of_stream(const RunProfile& run, int stream) {
    Sites sites;
    for (std::uint32_t i = 0; i < run.sites.size(); ++i) {
      if (run.sites[i].stream == stream) sites.push_back(i);
    }
    return sites;
  }

  static bool any_free(const Sites& sites, const Sites& match_of) {
    return std::any_of(sites.begin(), sites.end(),
                       [&](std::uint32_t site) { return match_of[site] == kFree; });
  }

  double score(std::uint32_t i, std::uint32_t j) const {
    if (of_a_[i] != kFree || of_b_[j] != kFree) return of_a_[i] == of_b_[j] ? 4 : -8;
    return 3 * site_similarity(a_.sites[i], b_.sites[j]) - 1.5;
  }

  // A kernel that takes a tenth of the time is hardly the same work.
  static bool comparable_time(const KernelSite& a, const KernelSite& b) {
    const double per_call_a = a.calls > 0 ? a.time_ns / a.calls : 0;
    const double per_call_b = b.calls > 0 ? b.time_ns / b.calls : 0;
    return std::min(per_call_a, per_call_b) >= kMinTimeRatio * std::max(per_call_a, per_call_b);
  }

  void take_similar(const std::vector<AlignedPair>& columns, const Sites& a, const Sites& b) {
    for (const auto& [i, j] : columns) {
      if (!i || !j || of_a_[a[*i]] != kFree || of_b_[b[*j]] != kFree) continue;
      const double alike = site_similarity(a_.sites[a[*i]], b_.sites[b[*j]]);
      if (alike >= kMinSimilarity && comparable_time(a_.sites[a[*i]], b_.sites[b[*j]]))
        add({a[*i]}, {b[*j]}, MatchLevel::sequence, 0.4 + 0.4 * alike);
    }
  }

  // What is between the same two matched sites on both sides, and belongs to one place, is one unit.
  void take_blocks(const std::vector<AlignedPair>& columns, const Sites& a, const Sites& b) {
    Sites block_a, block_b;
    const auto close = [&] {
      if (!block_a.empty() && !block_b.empty() && one_place(block_a, block_b))
        add(block_a, block_b, MatchLevel::group, kConfidenceGroup);
      block_a.clear();
      block_b.clear();
    };
    for (const auto& [i, j] : columns) {
      const bool free_a = i && of_a_[a[*i]] == kFree;
      const bool free_b = j && of_b_[b[*j]] == kFree;
      if (i && j && !free_a && !free_b) close();
      if (free_a) block_a.push_back(a[*i]);
      if (free_b) block_b.push_back(b[*j]);
    }
    close();
  }

  bool one_place(const Sites& a, const Sites& b) const {
    const std::string_view parent = parent_of(a_.sites[a.front()].path);
    const auto inside = [&](const KernelSite& site) { return parent_of(site.path) == parent; };
    return std::all_of(a.begin(), a.end(), [&](auto i) { return inside(a_.sites[i]); }) &&
           std::all_of(b.begin(), b.end(), [&](auto j) { return inside(b_.sites[j]); });
  }

  // What makes a match take up a site that has no counterpart.
  enum class Join {
    calls,    // it gained at least the site's calls
    changed,  // that, or it is not quite the same kernel any more
  };

  void join_free(Join how) {
    for (std::uint32_t i = 0; i < of_a_.size(); ++i) {
      if (of_a_[i] == kFree) join_one(i, true, how);
    }
    for (std::uint32_t j = 0; j < of_b_.size(); ++j) {
      if (of_b_[j] == kFree) join_one(j, false, how);
    }
  }

  static double calls_of(const RunProfile& run, const Sites& sites) {
    double sum = 0;
    for (const std::uint32_t site : sites) sum += run.sites[site].calls;
    return sum;
  }

  bool gained_calls(const SiteMatch& match, bool loses_a, double free_calls) const {
    const double gained = (loses_a ? 1 : -1) * (calls_of(b_, match.b) - calls_of(a_, match.a));
    return gained > 0 && gained >= free_calls;
  }

  bool changed(const SiteMatch& match) const {
    if (match.level != MatchLevel::exact) return true;
    const KernelSite& a = a_.sites[match.a.front()];
    const KernelSite& b = b_.sites[match.b.front()];
    return !a.code.empty() && !b.code.empty() && a.code != b.code;
  }

  // A site without a counterpart belongs to the changed match beside it: its work went there, or came from there.
  void join_one(std::uint32_t free, bool of_a, Join how) {
    const RunProfile& run = of_a ? a_ : b_;
    const KernelSite& site = run.sites[free];
    std::uint32_t best = kFree;
    double most = 0;
    for (std::uint32_t k = 0; k < result_.matches.size(); ++k) {
      const SiteMatch& match = result_.matches[k];
      for (const std::uint32_t other : of_a ? match.a : match.b) {
        const KernelSite& neighbour = run.sites[other];
        const auto distance = other > free ? other - free : free - other;
        if (neighbour.stream != site.stream) continue;
        const bool same_path = !site.path.empty() && neighbour.path == site.path;
        const bool gained = gained_calls(match, of_a, site.calls);
        if (how == Join::calls ? !gained || !same_path || neighbour.kernel_class != site.kernel_class
                               : !gained && !changed(match))
          continue;
        const bool beside = distance == 1 && parent_of(neighbour.path) == parent_of(site.path);
        if (!same_path && !beside) continue;
        const double weight = (same_path ? 2.0 : 1.0) + 1.0 / static_cast<double>(distance);
        if (weight > most) {
          most = weight;
          best = k;
        }
      }
    }
    if (best == kFree) return;
    SiteMatch& match = result_.matches[best];
    (of_a ? match.a : match.b).push_back(free);
    (of_a ? of_a_ : of_b_)[free] = best;
    match.level = MatchLevel::group;
    match.confidence = std::min(match.confidence, kConfidenceGroup);
  }

  const RunProfile& a_;
  const RunProfile& b_;
  Sites of_a_, of_b_;  // the match of each site, or kFree
  Matching result_;
};

bool other_models(const RunProfile& a, const RunProfile& b) {
  std::set<std::string> of_a, of_b;
  for (const DeviceFacts& device : a.devices) of_a.insert(device.name);
  for (const DeviceFacts& device : b.devices) of_b.insert(device.name);
  return of_a != of_b;
}

}  // namespace

double site_similarity(const KernelSite& a, const KernelSite& b) {
  double sum = 0;
  if (a.kernel_class == b.kernel_class) sum += a.kernel_class == KernelClass::other ? 0.2 : 0.35;
  sum += 0.25 * shared_words(a.path, b.path);
  sum += 0.25 * shared_words(a.kernel, b.kernel);
  if (a.calls == b.calls) sum += 0.15;
  return sum;
}

Result<Matching> match_kernels(const RunProfile& a, const RunProfile& b, const MatchOptions& options) {
  const bool families_only = options.families_only || other_models(a, b);
  Matcher matcher(a, b, families_only);
  try {
    matcher.apply_rules(options.rules);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return Failure{ErrorKind::usage, "a matching rule is no regular expression: " + error.message()};
  }
  if (families_only) {
    matcher.match_families();
  } else {
    matcher.match_names();
    matcher.match_calls();
    matcher.match_sequences();
    matcher.match_groups();
  }
  return matcher.finish();
}

}  // namespace ridgeline::comparison
