#include "ridgeline/store/collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture_file.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

// Of captures that have the tables, which came with a version.
std::optional<Database> with_tables(const Capture& capture, int version) {
  auto database = open_capture_file(capture.path());
  if (!database.ok()) throw Error(database.failure().kind, database.failure().message);
  if (database.value().scalar_int64("PRAGMA user_version") < version) return std::nullopt;
  return std::move(database).value();
}

}  // namespace

std::vector<Communicator> communicators(const Capture& capture) {
  std::vector<Communicator> rows;
  const auto database = with_tables(capture, kJobsAreKept);
  if (!database) return rows;
  Statement row =
      database->prepare("SELECT id, process_id, hash, ranks, rank, name FROM communicator ORDER BY id");
  while (row.step())
    rows.push_back({.id = row.int64(0),
                    .process_id = row.int64(1),
                    .hash = row.optional_text(2),
                    .ranks = row.optional_int64(3),
                    .rank = row.optional_int64(4),
                    .name = row.optional_text(5)});
  return rows;
}

std::vector<Collective> collectives(const Capture& capture) {
  std::vector<Collective> rows;
  const auto database = with_tables(capture, kJobsAreKept);
  if (!database) return rows;
  const bool detailed = database->scalar_int64("PRAGMA user_version") >= kCollectiveDetailsAreKept;
  Statement row = database->prepare(
      fmt::format("SELECT launch_id, communicator_id, ordinal, function, bytes, source, {} FROM collective "
                  "ORDER BY launch_id",
                  detailed ? "bytes_source, element_type, element_type_source, channels, channels_source, "
                             "algorithm, protocol, algorithm_source"
                           : "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"));
  while (row.step())
    rows.push_back(
        {.launch_id = row.int64(0),
         .communicator_id = row.optional_int64(1),
         .ordinal = row.optional_int64(2),
         .function = row.word<CollectiveFunction>(3, "collective.function"),
         .bytes = row.optional_int64(4),
         .source = row.word<CollectiveSource>(5, "collective.source"),
         .bytes_source = row.optional_word<CollectiveSource>(6, "collective.bytes_source"),
         .element_type = row.optional_word<ElementType>(7, "collective.element_type"),
         .element_type_source = row.optional_word<CollectiveSource>(8, "collective.element_type_source"),
         .channels = row.optional_int64(9),
         .channels_source = row.optional_word<CollectiveSource>(10, "collective.channels_source"),
         .algorithm = row.optional_word<CollectiveAlgorithm>(11, "collective.algorithm"),
         .protocol = row.optional_word<CollectiveProtocol>(12, "collective.protocol"),
         .algorithm_source = row.optional_word<CollectiveSource>(13, "collective.algorithm_source")});
  return rows;
}

std::unordered_map<Id, std::int64_t> collective_traffic(const Capture& capture, Id first, Id last) {
  constexpr std::int64_t kMaxBytes = INT64_MAX / 2;
  std::unordered_map<Id, std::int64_t> traffic;
  const auto database = with_tables(capture, kJobsAreKept);
  if (!database) return traffic;
  Statement row = database->prepare(
      "SELECT launch_id, function, bytes FROM collective WHERE launch_id BETWEEN ? AND ? AND bytes > 0");
  row.bind(1, first);
  row.bind(2, last);
  while (row.step()) {
    const std::int64_t bytes = std::min(row.int64(2), kMaxBytes);
    const bool twice =
        row.word<CollectiveFunction>(1, "collective.function") == CollectiveFunction::all_reduce;
    traffic[row.int64(0)] = twice ? 2 * bytes : bytes;
  }
  return traffic;
}

std::vector<CopiedCollective> copied_collectives(const Capture& capture) {
  std::vector<CopiedCollective> rows;
  const auto database = with_tables(capture, kCopiedCollectivesAreKept);
  if (!database) return rows;
  const bool counted = database->scalar_int64("PRAGMA user_version") >= kStepsOfRanksAreKnown;
  Statement row = database->prepare(
      fmt::format("SELECT memcpy_id, first_memcpy_id, communicator_id, function, bytes, source, {} FROM "
                  "collective_copy ORDER BY memcpy_id",
                  counted ? "ordinal" : "NULL"));
  while (row.step())
    rows.push_back({.copy_id = row.int64(0),
                    .first_copy_id = row.int64(1),
                    .communicator_id = row.optional_int64(2),
                    .function = row.word<CollectiveFunction>(3, "collective_copy.function"),
                    .bytes = row.optional_int64(4),
                    .source = row.word<CollectiveSource>(5, "collective_copy.source"),
                    .ordinal = row.optional_int64(6)});
  return rows;
}

}  // namespace ridgeline::store
