#include "ridgeline/analyzer/accounting/gaps.h"

#include <stdexcept>

namespace ridgeline::analyzer {

namespace {

constexpr std::uint32_t kNoLaunch = UINT32_MAX;

std::uint32_t packed(const std::optional<LaunchIndex>& launch) {
  return launch ? static_cast<std::uint32_t>(*launch) : kNoLaunch;
}

std::optional<LaunchIndex> unpacked(std::uint32_t launch) {
  return launch == kNoLaunch ? std::nullopt : std::optional<LaunchIndex>(launch);
}

}  // namespace

std::string_view to_string(GapKind kind) {
  switch (kind) {
    case GapKind::launch_bound:
      return "launch_bound";
    case GapKind::host_bound:
      return "host_bound";
    case GapKind::synchronisation:
      return "synchronisation";
    case GapKind::queued:
      return "queued";
    case GapKind::unknown:
      return "unknown";
    case GapKind::tail:
      return "tail";
  }
  return "unknown";
}

Gaps::Gaps() : all_(std::make_shared<All>()) {}

Gaps::Gaps(std::initializer_list<Gap> gaps) : Gaps() {
  for (const Gap& gap : gaps) push_back(gap);
}

Gaps::All& Gaps::own() {
  if (all_.use_count() > 1) all_ = std::make_shared<All>(*all_);
  return *all_;
}

Gap Gaps::operator[](std::size_t i) const {
  const Row& row = all_->rows[i];
  const Host& host = all_->hosts[row.host];
  return {.start_ns = row.start_ns,
          .end_ns = row.end_ns,
          .kind = row.kind,
          .before = unpacked(row.before),
          .after = unpacked(row.after),
          .thread_id = host.thread_id,
          .synchronisation_ns = host.synchronisation_ns,
          .wait = host.wait};
}

Gap Gaps::at(std::size_t i) const {
  if (i >= size()) throw std::out_of_range("Gaps::at");
  return (*this)[i];
}

void Gaps::push_back(const Gap& gap) {
  All& all = own();
  const Host host{gap.thread_id, gap.synchronisation_ns, gap.wait};
  if (all.hosts.empty() || all.hosts.back() != host) all.hosts.push_back(host);
  all.rows.push_back({gap.start_ns, gap.end_ns, packed(gap.before), packed(gap.after),
                      static_cast<std::uint32_t>(all.hosts.size() - 1), gap.kind});
}

void Gaps::append(const Gaps& other) {
  if (empty()) {
    *this = other;
    return;
  }
  All& all = own();
  const auto first_host = static_cast<std::uint32_t>(all.hosts.size());
  all.hosts.insert(all.hosts.end(), other.all_->hosts.begin(), other.all_->hosts.end());
  for (Row row : other.all_->rows) {
    row.host += first_host;
    all.rows.push_back(row);
  }
}

}  // namespace ridgeline::analyzer
