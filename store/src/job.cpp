#include "ridgeline/store/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <unordered_set>

#include "capture_file.h"
#include "ceilings.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/schema.h"
#include "table_rows.h"

namespace ridgeline::store {

namespace {

std::string spans_text(const Lengths& spans) {
  std::string text;
  for (const std::int64_t length : spans)
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : " ", length);
  return text;
}

Lengths spans_of(const std::string& text) {
  Lengths spans;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, code] = std::from_chars(at, end, value);
    if (code != std::errc() || value < 0)
      throw Error(ErrorKind::corrupt, "job_call.hidden is no list of lengths");
    spans.push_back(value);
    at = next;
    if (at < end && *at == ' ') ++at;
  }
  spans.shrink_to_fit();
  return spans;
}

void read_names(const Database& database, Job& job) {
  const std::int64_t version = database.scalar_int64("PRAGMA user_version");
  Statement rank = database.prepare(
      fmt::format("SELECT rank, host, program, world_size, device, file, process_id, {} FROM job_rank ORDER "
                  "BY rank",
                  version >= kStepsOfRanksAreKnown ? "step_source" : "NULL"));
  while (rank.step())
    job.ranks.push_back({rank.int64(0), rank.optional_text(1), rank.text(2), rank.optional_int64(3),
                         rank.optional_text(4), rank.text(5), rank.int64(6),
                         rank.optional_word<StepSource>(7, "job_rank.step_source")});
  Statement clock = database.prepare(
      "SELECT host, status, offset_ns, drift_ppb, base_ns, low_ns, high_ns, collectives FROM job_clock ORDER "
      "BY host");
  while (clock.step())
    job.clocks.push_back({clock.text(0), clock.word<ClockStatus>(1, "job_clock.status"),
                          clock.optional_int64(2), clock.optional_real(3), clock.optional_int64(4),
                          clock.optional_int64(5), clock.optional_int64(6), clock.int64(7)});
  Statement group = database.prepare("SELECT id, hash, ranks, name FROM job_communicator ORDER BY id");
  while (group.step())
    job.communicators.push_back(
        {group.int64(0), group.text(1), group.optional_int64(2), group.optional_text(3)});
  Statement site = database.prepare(
      fmt::format("SELECT id, communicator_id, function, bytes, {}, {}, {} FROM job_site ORDER BY id",
                  version >= kElementTypesAreKept ? "element_type, blocks" : "NULL, NULL",
                  version >= kCollectiveDetailsAreKept ? "algorithm, protocol" : "NULL, NULL",
                  version >= kCopiedCollectivesAreKept ? "copies" : "NULL"));
  while (site.step())
    job.sites.push_back(
        {site.int64(0), site.int64(1), site.optional_word<CollectiveFunction>(2, "job_site.function"),
         site.optional_int64(3), site.optional_word<ElementType>(4, "job_site.element_type"),
         site.optional_int64(5), site.optional_word<CollectiveAlgorithm>(6, "job_site.algorithm"),
         site.optional_word<CollectiveProtocol>(7, "job_site.protocol"), site.optional_int64(8)});
  Statement kernel = database.prepare("SELECT id, name FROM job_kernel ORDER BY id");
  while (kernel.step()) job.kernels.push_back({kernel.int64(0), kernel.text(1)});
}

// Lists of a million rows that grow by themselves take half as much again.
template <typename Row>
void reserve_for(const Database& database, const char* table, std::vector<Row>& rows) {
  rows.reserve(static_cast<std::size_t>(
      std::max<std::int64_t>(database.scalar_int64(fmt::format("SELECT count(*) FROM {}", table)), 0)));
}

void read_rows(const Database& database, Job& job) {
  reserve_for(database, "job_step", job.steps);
  reserve_for(database, "job_call", job.calls);
  reserve_for(database, "job_kernel_step", job.kernel_steps);
  const bool beside = database.scalar_int64("PRAGMA user_version") >= kInterferenceIsKept;
  Statement step = database.prepare(
      fmt::format("SELECT rank, step_index, start_ns, duration_ns, compute_ns, exposed_ns, copy_ns, idle_ns, "
                  "communication_ns, copy_beside_ns, launches, sm_clock_hz, clock_samples, {} FROM job_step "
                  "ORDER BY rank, step_index",
                  beside ? "beside_ns, beside_controlled_ns, beside_cost_ns" : "NULL, NULL, NULL"));
  while (step.step())
    job.steps.push_back({step.int64(0), step.int64(1), step.int64(2), step.int64(3), step.int64(4),
                         step.int64(5), step.int64(6), step.int64(7), step.int64(8), step.int64(9),
                         step.int64(10), step.optional_real(11), step.int64(12), step.optional_int64(13),
                         step.optional_int64(14), step.optional_real(15)});
  const bool ready = database.scalar_int64("PRAGMA user_version") >= kReadyTimesAreKept;
  Statement call = database.prepare(
      fmt::format("SELECT rank, step_index, position, site_id, ordinal, start_offset_ns, duration_ns, "
                  "kernels_before_end, hidden, {} FROM job_call ORDER BY rank, step_index, position",
                  ready ? "ready_offset_ns" : "NULL"));
  while (call.step()) {
    job.calls.push_back({call.int64(0),
                         call.int64(1),
                         call.int64(2),
                         call.int64(3),
                         call.optional_int64(4),
                         call.int64(5),
                         call.int64(6),
                         call.int64(7),
                         {},
                         call.optional_int64(9)});
    if (!call.is_null(8)) job.calls.back().hidden_ns = spans_of(call.text(8));
  }
  Statement of = database.prepare(
      "SELECT rank, step_index, kernel_id, launches, blocks, time_ns FROM job_kernel_step"
      " ORDER BY rank, step_index, kernel_id");
  while (of.step())
    job.kernel_steps.push_back(
        {of.int64(0), of.int64(1), of.int64(2), of.int64(3), of.int64(4), of.int64(5)});
}

void read_traffic(const Database& database, Job& job) {
  if (database.scalar_int64("PRAGMA user_version") < kJobTrafficIsKept) return;
  Statement of = database.prepare(
      "SELECT rank, site_id, count, time_ns, nvlink_sent_bytes, nvlink_received_bytes, pcie_received_bytes, "
      "pcie_sent_bytes FROM job_traffic ORDER BY rank, site_id");
  while (of.step())
    job.traffic.push_back(
        {of.int64(0),
         of.optional_int64(1),
         of.int64(2),
         of.int64(3),
         {of.optional_real(4), of.optional_real(5), of.optional_real(6), of.optional_real(7)}});
}

void read_interference(const Database& database, Job& job) {
  if (database.scalar_int64("PRAGMA user_version") < kInterferenceIsKept) return;
  Statement of = database.prepare(
      "SELECT rank, kernel_id, function, launches, compared, controls, beside_ns, controlled_ns, cost_ns "
      "FROM job_interference ORDER BY rank, kernel_id, function");
  while (of.step())
    job.interference.push_back({of.int64(0), of.int64(1),
                                of.optional_word<CollectiveFunction>(2, "job_interference.function"),
                                of.int64(3), of.int64(4), of.int64(5), of.int64(6), of.int64(7), of.real(8)});
}

void add_links(CaptureWriter& writer, const Job& job) {
  if (job.links.empty()) return;
  Device device;
  device.name = job.ranks.front().device.value_or("GPU");
  const Id id = writer.add(device);
  for (Ceiling link : job.links) {
    link.device_id = id;
    writer.add(link);
  }
}

void insert_names(Database& database, const Job& job) {
  Statement rank = database.prepare("INSERT INTO job_rank VALUES (?,?,?,?,?,?,?,?)");
  for (const JobRank& row : job.ranks)
    rank.bind_all(row.rank, row.host, row.program, row.world_size, row.device, row.file, row.process_id,
                  row.step_source)
        .run();
  Statement clock = database.prepare("INSERT INTO job_clock VALUES (?,?,?,?,?,?,?,?)");
  for (const JobClock& row : job.clocks)
    clock
        .bind_all(row.host, row.status, row.offset_ns, row.drift_ppb, row.base_ns, row.low_ns, row.high_ns,
                  row.collectives)
        .run();
  Statement group = database.prepare("INSERT INTO job_communicator VALUES (?,?,?,?)");
  for (const JobCommunicator& row : job.communicators)
    group.bind_all(row.id, row.hash, row.ranks, row.name).run();
  Statement site = database.prepare("INSERT INTO job_site VALUES (?,?,?,?,?,?,?,?,?)");
  for (const JobSite& row : job.sites)
    site.bind_all(row.id, row.communicator_id, row.function, row.bytes, row.element_type, row.blocks,
                  row.algorithm, row.protocol, row.copies)
        .run();
  Statement kernel = database.prepare("INSERT INTO job_kernel VALUES (?,?)");
  for (const JobKernel& row : job.kernels) kernel.bind_all(row.id, row.name).run();
}

void insert_rows(Database& database, const Job& job) {
  Statement step = database.prepare("INSERT INTO job_step VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (const JobStep& row : job.steps)
    step.bind_all(row.rank, row.step_index, row.start_ns, row.duration_ns, row.compute_ns, row.exposed_ns,
                  row.copy_ns, row.idle_ns, row.communication_ns, row.copy_beside_ns, row.launches,
                  row.sm_clock_hz, row.clock_samples, row.beside_ns, row.beside_controlled_ns,
                  row.beside_cost_ns)
        .run();
  Statement call = database.prepare("INSERT INTO job_call VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (const JobCall& row : job.calls) {
    std::optional<std::string> hidden;
    if (!row.hidden_ns.empty()) hidden = spans_text(row.hidden_ns);
    call.bind_all(row.rank, row.step_index, row.position, row.site_id, row.ordinal, row.start_offset_ns,
                  row.duration_ns, row.kernels_before_end, hidden, row.ready_offset_ns)
        .run();
  }
  Statement of = database.prepare("INSERT INTO job_kernel_step VALUES (?,?,?,?,?,?)");
  for (const JobKernelStep& row : job.kernel_steps)
    of.bind_all(row.rank, row.step_index, row.kernel_id, row.launches, row.blocks, row.time_ns).run();
  Statement traffic = database.prepare("INSERT INTO job_traffic VALUES (?,?,?,?,?,?,?,?)");
  for (const JobTraffic& row : job.traffic)
    traffic
        .bind_all(row.rank, row.site_id, row.count, row.time_ns, row.bytes.nvlink_sent_bytes,
                  row.bytes.nvlink_received_bytes, row.bytes.pcie_received_bytes, row.bytes.pcie_sent_bytes)
        .run();
  Statement beside = database.prepare("INSERT INTO job_interference VALUES (?,?,?,?,?,?,?,?,?)");
  for (const JobInterference& row : job.interference)
    beside
        .bind_all(row.rank, row.kernel_id, row.function, row.launches, row.compared, row.controls,
                  row.beside_ns, row.controlled_ns, row.cost_ns)
        .run();
}

// Nothing that is computed with them can overflow, and nothing refers to what is not there.
constexpr std::int64_t kLongestOfJobNs = 1'000'000'000'000'000;
constexpr std::int64_t kLatestOfJobNs = 2'200'000'000'000'000'000;
constexpr std::int64_t kMaxRanks = 1'000'000;
constexpr double kMaxTrafficBytes = 1e18;
constexpr std::int64_t kMaxBlocks = 1'000'000'000'000'000'000;

void require(bool good, std::string_view what) {
  if (!good) throw Error(ErrorKind::corrupt, fmt::format("a merged job is damaged: {}", what));
}
bool is_length(std::int64_t ns) {
  return ns >= 0 && ns < kLongestOfJobNs;
}
bool is_time(std::int64_t ns) {
  return ns > -kLatestOfJobNs && ns < kLatestOfJobNs;
}

// Of comparisons, so that it may be negative.
bool is_cost(double ns) {
  return std::abs(ns) < static_cast<double>(kLongestOfJobNs);
}

template <typename Rows>
std::unordered_set<Id> ids_of(const Rows& rows) {
  std::unordered_set<Id> ids;
  for (const auto& row : rows) ids.insert(row.id);
  return ids;
}

void check_names(const Job& job, const std::unordered_set<Id>& communicators) {
  for (const JobRank& rank : job.ranks)
    require(!rank.world_size || (*rank.world_size > 0 && *rank.world_size <= kMaxRanks), "a number of ranks");
  for (const JobClock& clock : job.clocks) {
    for (const auto& ns : {clock.offset_ns, clock.base_ns, clock.low_ns, clock.high_ns})
      require(!ns || is_time(*ns), "a time of a clock");
    require(!clock.drift_ppb || std::abs(*clock.drift_ppb) < 1e9, "a drift");
  }
  for (const JobSite& site : job.sites) {
    require(communicators.contains(site.communicator_id), "a communicator");
    require(!site.blocks || (*site.blocks >= 0 && *site.blocks < kMaxBlocks), "blocks of a collective");
    require(!site.copies || (*site.copies > 0 && *site.copies < kMaxBlocks), "copies of a collective");
  }
}

void check(const Job& job) {
  check_names(job, ids_of(job.communicators));
  std::unordered_set<Id> ranks;
  for (const JobRank& rank : job.ranks) ranks.insert(rank.rank);
  for (const JobStep& step : job.steps) {
    require(ranks.contains(step.rank) && is_time(step.start_ns), "a step");
    for (const std::int64_t ns : {step.duration_ns, step.compute_ns, step.exposed_ns, step.copy_ns,
                                  step.idle_ns, step.communication_ns, step.copy_beside_ns})
      require(is_length(ns), "a time of a step");
    for (const auto& ns : {step.beside_ns, step.beside_controlled_ns})
      require(!ns || is_length(*ns), "a time of kernels beside collectives");
    require(!step.beside_cost_ns || is_cost(*step.beside_cost_ns), "what collectives cost in a step");
  }
  const auto sites = ids_of(job.sites);
  for (const JobCall& call : job.calls) {
    require(ranks.contains(call.rank) && sites.contains(call.site_id), "a collective");
    require(
        is_length(call.start_offset_ns) && is_length(call.duration_ns) && is_length(call.kernels_before_end),
        "a time of a collective");
    require(!call.ready_offset_ns ||
                (*call.ready_offset_ns > -kLongestOfJobNs && *call.ready_offset_ns < kLongestOfJobNs),
            "the time from which a collective could have begun");
    require(std::all_of(call.hidden_ns.begin(), call.hidden_ns.end(), is_length), "a length of a collective");
  }
  const auto kernels = ids_of(job.kernels);
  for (const JobKernelStep& row : job.kernel_steps) {
    require(ranks.contains(row.rank) && kernels.contains(row.kernel_id), "a kernel");
    require(is_length(row.time_ns) && is_length(row.launches) && row.blocks >= 0 && row.blocks < kMaxBlocks,
            "a sum of a kernel");
  }
  for (const JobInterference& row : job.interference) {
    require(ranks.contains(row.rank) && kernels.contains(row.kernel_id), "a kernel beside collectives");
    require(is_length(row.launches) && is_length(row.compared) && is_length(row.controls) &&
                is_length(row.beside_ns) && is_length(row.controlled_ns) && is_cost(row.cost_ns),
            "a sum of a kernel beside collectives");
  }
  for (const JobTraffic& row : job.traffic) {
    require(ranks.contains(row.rank) && (!row.site_id || sites.contains(*row.site_id)), "a rank's traffic");
    require(is_length(row.time_ns) && is_length(row.count), "a sum of a rank's traffic");
    for (const auto& bytes : {row.bytes.nvlink_sent_bytes, row.bytes.nvlink_received_bytes,
                              row.bytes.pcie_received_bytes, row.bytes.pcie_sent_bytes})
      require(!bytes || (*bytes >= 0 && *bytes < kMaxTrafficBytes), "bytes of a rank's traffic");
  }
}

bool holds_job(const Database& database) {
  return database.scalar_int64("PRAGMA user_version") >= kJobsAreKept &&
         database.scalar_int64("SELECT count(*) FROM job_rank") > 0;
}

}  // namespace

Result<bool> is_job(const std::string& path) {
  auto database = open_capture_file(path);
  if (!database.ok()) return database.failure();
  try {
    return holds_job(database.value());
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

std::vector<Ceiling> nvlink_of(const std::vector<Ceiling>& ceilings) {
  std::vector<Ceiling> links;
  for (const Ceiling& roof : ceilings) {
    const bool of_first = links.empty() || links.front().device_id == roof.device_id;
    if (roof.level == CeilingLevel::nvlink && of_first) links.push_back(roof);
  }
  return links;
}

Result<Job> read_job(const std::string& path) {
  auto database = open_capture_file(path);
  if (!database.ok()) return database.failure();
  try {
    if (!holds_job(database.value()))
      return Failure{ErrorKind::no_data, path + " is no merged job: make one with `ridgeline merge`"};
    Job job;
    read_names(database.value(), job);
    read_rows(database.value(), job);
    read_traffic(database.value(), job);
    read_interference(database.value(), job);
    job.links = nvlink_of(read_ceilings(database.value()));
    check(job);
    return job;
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

Result<void> write_job(const std::string& path, const Run& run, const Job& job) {
  try {
    {
      auto writer = CaptureWriter::create(path);
      if (!writer.ok()) return writer.failure();
      writer.value().set_run(run);
      add_links(writer.value(), job);
      writer.value().finish();
    }
    Database database(path, OpenMode::read_write);
    database.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
    Transaction transaction(database);
    insert_names(database, job);
    insert_rows(database, job);
    write_table_rows(database, {});
    transaction.commit();
    return {};
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::store
