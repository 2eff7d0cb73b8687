// source_kind.cpp: what a file is, by its first bytes and, of a database, by its tables.
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "nsys/nsys_tables.h"
#include "perfetto/proto_fields.h"
#include "ridgeline/base/text.h"
#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::import {

namespace {

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

Failure nothing_known(const std::string& path, std::string_view what) {
  return {ErrorKind::not_a_capture, fmt::format("{} {}", path, what)};
}

constexpr std::string_view kNcuResult =
    "is a result of Nsight Compute, which has no timeline: join it onto a capture with --onto CAPTURE";

constexpr std::string_view kKnown =
    "is nothing that can be imported: give a spool directory, an SQLite export or a report of Nsight "
    "Systems, "
    "or a trace of torch.profiler, Chrome or Perfetto";

// `nsys export` writes other formats than SQLite.
Failure other_export(const std::string& path, std::string_view what) {
  return nothing_known(
      path, fmt::format("is {}, which is not read: if Nsight Systems wrote it, export its report as "
                        "SQLite, with nsys export --type sqlite REPORT.nsys-rep, and import that",
                        what));
}

// Tables of a folder: --type parquetdir, arrowdir.
std::string_view tables_in(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".parquet")) return "a folder of Parquet files";
    if (name.ends_with(".arrow")) return "a folder of Arrow files";
  }
  return "";
}

// The beginning of a file of --type arrow, hdf, jsonlines, or of one table of a folder; "": of none.
std::string_view other_format_of(std::string_view head) {
  if (head.starts_with("PAR1")) return "a Parquet file";
  if (head.starts_with("ARROW1") || head.starts_with(std::string_view("\xFF\xFF\xFF\xFF", 4)))
    return "an Arrow file";
  if (head.starts_with("\x89HDF\r\n")) return "an HDF5 file";
  if (head.starts_with('{') && head.find("}\n{") != std::string_view::npos)
    return "JSON with a document a line";
  return "";
}

// The first bytes, unpacked if it is packed.
Result<std::string> head_of(const std::string& path) {
  struct Close {
    void operator()(gzFile file) const { (void)gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) return Failure{ErrorKind::io, fmt::format("{} cannot be read: {}", path, std::strerror(errno))};
  std::string head(4096, '\0');
  const int got = gzread(file.get(), head.data(), static_cast<unsigned>(head.size()));
  if (got < 0) return nothing_known(path, "is packed and damaged from its first bytes on");
  head.resize(static_cast<std::size_t>(got));
  return head;
}

Result<SourceKind> kind_of_database(const std::string& path) {
  if (store::is_capture_file(path))
    return Failure{ErrorKind::usage, fmt::format("{} is a capture already: ridgeline rank {}", path, path)};
  try {
    store::Database database(path, store::OpenMode::immutable);
    database.distrust_schema();
    if (is_nsys_export(database)) return SourceKind::nsys_export;
  } catch (const Error& error) {
    // What the reader of captures would have done with it is of no use here, and SQLite quotes the file's own text.
    if (error.kind() == ErrorKind::not_a_capture || error.kind() == ErrorKind::corrupt)
      return Failure{ErrorKind::corrupt,
                     fmt::format("{} is a damaged SQLite database: export the report again", path)};
    return Failure{error.kind(), one_line(error.message())};
  }
  return nothing_known(path,
                       "is an SQLite database, but no export of Nsight Systems: it has none of its tables");
}

// A packet of a Perfetto trace: field 1 with its length, and in it a field that packets have.
bool is_packet(std::string_view head) {
  // The packet may be longer than what is known of the file.
  if (!head.starts_with('\x0a')) return false;
  std::size_t at = 1;
  while (at < head.size() && at < 11 && static_cast<unsigned char>(head[at]) >= 0x80U) ++at;
  ProtoFields fields(head.substr(std::min(at + 1, head.size())));
  constexpr std::uint32_t kMaxFields = 1000;
  return (fields.next() || fields.field() > 0) && fields.field() < kMaxFields;
}

bool has_nsys_ending(std::string_view path) {
  return path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
}

Result<SourceKind> kind_of_text(const std::string& path, std::string_view head) {
  const std::string_view all = head;
  if (const std::string_view format = other_format_of(head); !format.empty())
    return other_export(path, format);
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  head.remove_prefix(std::min(head.size(), head.find_first_not_of(" \t\r\n")));
  if (head.starts_with('{') || head.starts_with('[')) return SourceKind::trace_json;
  const auto has_line = [&](std::string_view begin) {
    return head.starts_with(begin) || all.find("\n" + std::string(begin)) != std::string_view::npos;
  };
  if (has_line("==ERROR=="))
    return nothing_known(path, "holds errors of Nsight Compute and no result: run ncu again");
  if (has_line("==PROF==") || head.starts_with("\"ID\",\"Process ID\""))
    return nothing_known(path, kNcuResult);
  // The formats of the reports are not published: of these the name has to do.
  if (path.ends_with(".ncu-rep") || path.ends_with(".ncu-repz")) return nothing_known(path, kNcuResult);
  if (has_nsys_ending(path)) return SourceKind::nsys_report;
  if (is_packet(all)) return SourceKind::perfetto;
  return nothing_known(path, kKnown);
}

}  // namespace

Result<SourceKind> source_kind(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return Failure{ErrorKind::usage, fmt::format("{}: no such directory or file", path)};
    return Failure{ErrorKind::io, fmt::format("{} cannot be reached: {}", path, std::strerror(errno))};
  }
  if (S_ISDIR(status.st_mode)) {
    if (const std::string_view tables = tables_in(path); !tables.empty()) return other_export(path, tables);
    return SourceKind::spool;
  }
  if (!S_ISREG(status.st_mode))
    return Failure{ErrorKind::usage,
                   fmt::format("{} is no file that can be read twice: name one on a disk", path)};
  if (status.st_size == 0) return nothing_known(path, "is empty");
  Result<std::string> head = head_of(path);
  if (!head.ok()) return head.failure();
  if (head.value().empty()) return nothing_known(path, "is packed, and there is nothing in it");
  if (std::string_view(head.value()).starts_with(kSqliteMagic)) return kind_of_database(path);
  return kind_of_text(path, head.value());
}

}  // namespace ridgeline::import
