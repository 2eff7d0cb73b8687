// schema.h: the capture's schema, its version and its migrations.
//
// A capture is an SQLite file with application_id kApplicationId and user_version kSchemaVersion.
// Every migration raises user_version by one; a file of an older version is brought up by the missing
// ones in order. Tables may change between versions; the views (v_*) are the public interface and keep
// their columns, new ones are appended.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ridgeline/store/database.h"

namespace ridgeline::store {

inline constexpr std::int32_t kApplicationId = 0x52494447;  // "RIDG"

struct Migration {
  int to_version;                        // user_version after this step; consecutive from 1
  std::string_view sql;                  // one or more statements
  void (*convert)(Database&) = nullptr;  // what SQL cannot do, after them
};

/// The migrations from an empty database to the current schema.
[[nodiscard]] std::span<const Migration> migrations();

/// Captures from this version on are read as they are: what later versions add are a table and columns that
/// a reader can do without, and launches as versions 3 to 7 kept them and sentences for reasons are understood.
inline constexpr int kReadInPlace = 5;
/// From this version on reasons are codes with values; before it they are sentences in the rows.
inline constexpr int kReasonsAreCodes = 9;

/// From this version on a capture has what orders work beside streams: order.h.
inline constexpr int kOrderIsRecorded = 10;
/// From this version on the table `ceiling` has the columns that records.h names.
inline constexpr int kCeilingsAreMeasured = 11;

/// From this version on delays in front of launches are kept: interventions.h.
inline constexpr int kInterventionsAreKept = 12;

/// From this version on collectives are kept (collectives.h), and jobs of many ranks (job.h).
inline constexpr int kJobsAreKept = 13;
/// From this version on a collective of a job has the time from which it could have begun.
inline constexpr int kReadyTimesAreKept = 14;
/// From this version on a job has what went over its ranks' links.
inline constexpr int kJobTrafficIsKept = 15;
/// From this version on a job has what collectives cost the kernels beside them.
inline constexpr int kInterferenceIsKept = 16;
/// From this version on a collective of a job has the type of its elements and its blocks.
inline constexpr int kElementTypesAreKept = 17;
/// From this version on a collective has the type of its elements, its channels, algorithm and protocol, and who said
/// so; one of a job has its algorithm and protocol.
inline constexpr int kCollectiveDetailsAreKept = 18;
/// From this version on collectives that the copy engines do are kept, and how many copies those of a job are.
inline constexpr int kCopiedCollectivesAreKept = 19;
/// From this version on a rank of a job has what marks its steps, and a collective of the copy engines its ordinal.
inline constexpr int kStepsOfRanksAreKnown = 20;

/// The version this build writes: the last migration's.
[[nodiscard]] int schema_version();

/// The views, made anew after the last migration, so that an old capture gets today's views.
[[nodiscard]] std::string_view views_sql();

/// Applies the migrations whose version the database has not reached, then makes the views, in one
/// transaction: on failure nothing has changed. Throws Error(newer_capture) if the file is ahead.
void migrate(Database& database, std::span<const Migration> steps, std::string_view views);

}  // namespace ridgeline::store
