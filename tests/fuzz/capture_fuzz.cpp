// capture_fuzz.cpp: damaged and made-up captures through everything that reads one.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "fabricated_capture.h"
#include "fuzz.h"
#include "generate/rank_job.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "support/temporary_directory.h"
#include "support/whole_file.h"

namespace ridgeline::fuzz {
namespace {

using ridgeline::testing::whole_file;

// Nothing that a file can hold is our bug.
void expect_honest(ErrorKind kind, const std::string& message) {
  if (kind == ErrorKind::internal) throw std::logic_error("blamed on us: " + message);
}

template <typename T>
std::shared_ptr<const T> answered(analyzer::Answer<T> answer) {
  if (answer) return std::move(answer).value();
  expect_honest(answer.failure().kind, answer.failure().message);
  return nullptr;
}

// As `merge` and `ranks` read it.
void use_ranks(const std::string& path) {
  Result<store::Job> part = analyzer::ranks_of(path);
  if (!part.ok()) return expect_honest(part.failure().kind, part.failure().message);
  std::vector<store::Job> parts;
  parts.push_back(std::move(part).value());
  Result<store::Job> job = analyzer::merged(std::move(parts));
  if (!job.ok()) return expect_honest(job.failure().kind, job.failure().message);
  analyzer::align_clocks(job.value());
  const auto analysis = analyzer::analyse_job(job.value());
  if (!analysis.ok()) expect_honest(analysis.failure().kind, analysis.failure().message);
}

void use(const std::string& path) {
  try {
    Result<store::Capture> opened = store::Capture::open(path);
    if (!opened.ok()) return expect_honest(opened.failure().kind, opened.failure().message);
    use_ranks(path);
    (void)opened.value().verify();
    (void)opened.value().row_counts();
    (void)opened.value().query("SELECT * FROM v_launch LIMIT 20");
    analyzer::Session session(std::move(opened).value());
    using Parts = analyzer::Session;
    const auto all = answered(session.analysis({}, Parts::kEverything));
    const auto model = answered(session.model());
    {
      const Result<store::Capture> again = store::Capture::open(path);
      if (again.ok()) {
        const store::Order order(again.value());
        (void)order.summary();
        for (const store::Process& process : again.value().processes()) (void)order.memory(process.id);
      }
    }
    if (all == nullptr || model == nullptr) return;
    reports::DocumentOptions options;
    options.all = true;
    options.verbose = true;
    (void)reports::ranking_document(*model, *all, options).text();
    (void)reports::check_document(*model, *all, options).text();
    (void)reports::steps_document(*model, *all, options).text();
    (void)reports::info_document(*model, {}, options).text();
    (void)reports::html_report(*model, *all);
    (void)reports::json_report(*model, *all).text();
  } catch (const Error& error) {
    expect_honest(error.kind(), error.message());
  }
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

struct Column {
  std::string table, name;
};

std::vector<Column> columns_of(const std::string& path) {
  std::vector<Column> columns;
  const store::Database database(path, store::OpenMode::read_only);
  store::Statement row = database.prepare(
      "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' "
      "AND m.name NOT "
      "LIKE 'sqlite_%' ORDER BY 1, 2");
  while (row.step()) columns.push_back({row.text(0), row.text(1)});
  return columns;
}

// Values that the file's format allows and no recording holds.
std::string odd_value(Random& random) {
  static const std::vector<std::string> kValues = {"NULL",
                                                   "9e999",
                                                   "-9e999",
                                                   "1e-310",
                                                   "1.8e308",
                                                   "0.0",
                                                   "''",
                                                   "'nap'",
                                                   "'timeline'",
                                                   "x'ff00c3'",
                                                   "char(27) || '[2J</script>'",
                                                   "printf('%.*c', 100000, 'k')",
                                                   "hex(zeroblob(2000))"};
  return random.one_in(2) ? std::to_string(random.odd_number()) : random.of(kValues);
}

void change(const std::string& path, const std::vector<Column>& columns, Random& random) {
  store::Database database(path, store::OpenMode::read_write);
  database.execute(
      "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;"
      "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  const std::size_t changes = 1 + random.below(3);
  for (std::size_t i = 0; i < changes; ++i) {
    const Column& column = random.of(columns);
    const std::string of = " WHERE " + column.name + " IN (SELECT " + column.name + " FROM " + column.table +
                           " LIMIT 3 OFFSET " + std::to_string(random.below(20)) + ")";
    const std::string some = random.one_in(2) ? "" : of;
    const std::string sql = random.one_in(8) ? "DELETE FROM " + column.table + some
                                             : "UPDATE OR IGNORE " + column.table + " SET " + column.name +
                                                   " = " + odd_value(random) + some;
    try {
      database.execute(sql);
    } catch (const Error&) {  // a STRICT table takes no such value
    }
  }
}

// A rank's capture and the job that it is merged into, as bytes.
std::vector<std::string> job_seeds(const testing::TemporaryDirectory& directory) {
  generate::RankJob options;
  options.ranks = 3;
  options.ranks_per_host = 2;
  options.steps = 3;
  options.layers = 2;
  options.cause = generate::RankCause::host_gaps;
  const std::vector<std::string> files = generate::generate_rank_job(options, directory.path()).files;
  std::vector<store::Job> parts;
  for (const std::string& file : files) parts.push_back(analyzer::ranks_of(file).value());
  store::Job job = analyzer::merged(std::move(parts)).value();
  analyzer::align_clocks(job);
  store::Run run;
  run.clock = "of each rank";
  store::write_job(directory / "job.ridge", run, job).value();
  return {whole_file(files[0]), whole_file(directory / "job.ridge")};
}

// Columns of tables that hold something which ranks are read from.
std::vector<Column> filled(const std::string& path) {
  std::vector<Column> all;
  const store::Database database(path, store::OpenMode::read_only);
  for (Column& column : columns_of(path)) {
    if (column.table != "table_rows" &&
        database.scalar_int64("SELECT count(*) FROM (SELECT 1 FROM " + column.table + " LIMIT 1)") > 0)
      all.push_back(std::move(column));
  }
  return all;
}

}  // namespace
}  // namespace ridgeline::fuzz

int main(int argc, char** argv) {
  using namespace ridgeline;
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "fuzzed.ridge";
  testing::FabricatedCapture rich;
  rich.layers = 1;
  rich.warmup_steps = 1;
  rich.timeline_steps = 3;
  rich.replay_steps = 2;
  rich.sample_steps = 2;
  rich.cold_steps = 1;
  testing::write_fabricated_capture(directory / "seed.ridge", rich);
  {
    store::Database database(directory / "seed.ridge", store::OpenMode::read_write);
    database.execute(
        "INSERT OR IGNORE INTO string(value) VALUES ('event_record'), ('event_wait'), ('kernel'), "
        "('allocate');"
        "INSERT INTO stream SELECT id, 1, 7, 'legacy', 0 FROM process;"
        "INSERT INTO stream_call SELECT p.id, 4 + (s.value = 'event_wait'), s.id, 11, 1000, 1, 7, 1,"
        " CASE s.value WHEN 'event_wait' THEN 4 END, NULL FROM process p, string s WHERE s.value LIKE "
        "'event_%';"
        "INSERT INTO graph_node SELECT p.id, n.value, 1, s.id, NULL FROM process p, string s, "
        "json_each('[1,2]') n"
        " WHERE s.value = 'kernel';"
        "INSERT INTO graph_edge SELECT id, 2, 1, 0 FROM process;"
        "INSERT INTO memory_call SELECT p.id, 6, s.id, 11, 1000, (SELECT min(id) FROM device), 64, NULL, 64, "
        "NULL"
        " FROM process p, string s WHERE s.value = 'allocate';"
        "INSERT INTO left_out SELECT id, 'graph_nodes', 3 FROM process;"
        "UPDATE recording_window SET stream_calls = 1; DELETE FROM table_rows");
  }
  const std::string seed = ridgeline::testing::whole_file(directory / "seed.ridge");
  const std::vector<fuzz::Column> columns = fuzz::columns_of(directory / "seed.ridge");

  fuzz::Target bytes{"capture", {seed}, [&](const std::string& input, fuzz::Random&) {
                       fuzz::write(path, input);
                       fuzz::use(path);
                     }};
  // The input is a text of numbers that choose the changes: rows and values rather than bytes.
  fuzz::Target values{"values", {"1", "22", "a third"}, [&](const std::string& input, fuzz::Random&) {
                        fuzz::Random random(std::hash<std::string>{}(input));
                        fuzz::write(path, seed);
                        fuzz::change(path, columns, random);
                        fuzz::use(path);
                      }};
  const std::vector<std::string> jobs = fuzz::job_seeds(directory);
  // Likewise of a rank's capture and of a merged job; of a table that they hold.
  fuzz::Target ranks{"ranks", {"1", "22", "a third"}, [&](const std::string& input, fuzz::Random&) {
                       fuzz::Random random(std::hash<std::string>{}(input));
                       fuzz::write(path, random.of(jobs));
                       fuzz::change(path, fuzz::filled(path), random);
                       fuzz::use_ranks(path);
                     }};
  return fuzz::main(argc, argv, {bytes, values, ranks});
}
