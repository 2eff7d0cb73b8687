// What the codes of a spool are called in a capture, each of them and numbers beyond, held against
// tests/golden/tables/spool-words.txt.
#include <fmt/format.h>

#include <string>

#include "import/import_testing.h"
#include "spool/spool_words.h"
#include "support/accepted_table.h"

namespace ridgeline::import {
namespace {

std::string words_of_reason(const Reason& reason) {
  std::string text(to_string(reason.code));
  for (const ReasonValue& value : reason.values) {
    if (value.name == "cause") {
      text += fmt::format(" cause={}", reason.word("cause"));
    } else {
      text += fmt::format(" {}={}", value.name, reason.number(value.name));
    }
  }
  return reason.text.empty() ? text : text + " [" + reason.text + "]";
}

std::string words_of_messages(const spool::Reader& reader, spool::StringId words) {
  std::string table;
  spool::MessageRecord message{};
  for (std::uint16_t topic = 0; topic < 36; ++topic) {
    message.topic = static_cast<spool::Topic>(topic);
    table += fmt::format("topic {}: {}\n", topic, words_of_reason(reason_of(reader, message)));
  }
  message.topic = spool::Topic::counters_refused;
  message.text = words;
  for (std::uint16_t cause = 0; cause < 8; ++cause) {
    for (const std::uint16_t result : {std::uint16_t{0}, std::uint16_t{35}}) {
      message.cause = static_cast<RefusalCause>(cause);
      message.cupti_result = result;
      table += fmt::format("cause {}, result {}: {}\n", cause, result,
                           words_of_reason(reason_of(reader, message)));
    }
  }
  for (const spool::StringId id : {spool::StringId{0}, words, words + 1000})
    table += fmt::format("words {}: {}\n",
                         id == 0       ? "none"
                         : id == words ? "known"
                                       : "lost",
                         words_of_reason(import::words_of(reader, ReasonCode::replay, id)));
  return table;
}

std::string words_of_versions(const spool::Reader& reader, spool::StringId words) {
  std::string table;
  for (std::uint32_t component = 0; component < 8; ++component) {
    spool::VersionRecord record{};
    record.component = static_cast<spool::Component>(component);
    const char* name = component_name(record.component);
    table += fmt::format("component {}: {}", component, name == nullptr ? "none" : name);
    for (const std::int64_t number : {0, 1, 12, 9'999, 13'000, 13'010, 99'999, 100'000, 130'001, 130'185}) {
      record.number = number;
      record.text = 0;
      table += fmt::format(" | {}: {}", number, version_text(reader, record));
      record.text = words;
      table += fmt::format(", {}", version_text(reader, record));
    }
    table += "\n";
  }
  return table;
}

TEST(SpoolWords, KernelsOfAMessageHaveTheNamesOfTheirFamilies) {
  const testing::TemporaryDirectory directory;
  testing::FakeSpool spool(directory.path());
  spool::MessageRecord message{};
  message.topic = spool::Topic::steps;
  message.text = spool.text(
      "beginning with _ZN2at6native29vectorized_elementwise_kernelILi4EfEEvi; \"_Z5scalePf\" and my_Z3fooi, "
      "_Z");
  spool.end();
  std::string error;
  const auto reader = spool::Reader::open(spool.file(), &error);
  ASSERT_TRUE(reader.has_value()) << error;
  EXPECT_EQ(reason_of(*reader, message).text,
            "beginning with at::native::vectorized_elementwise_kernel; \"scale\" and my_Z3fooi, _Z");
}

TEST(AcceptedTable, WordsOfASpool) {
  const testing::TemporaryDirectory directory;
  testing::FakeSpool spool(directory.path());
  const spool::StringId words = spool.text("two\nlines");
  spool.end();
  std::string error;
  const auto reader = spool::Reader::open(spool.file(), &error);
  ASSERT_TRUE(reader.has_value()) << error;
  std::string table = words_of_messages(*reader, words) + words_of_versions(*reader, words);
  for (std::uint32_t kind = 0; kind < 13; ++kind)
    table += fmt::format("copy {}: {}\n", kind, to_string(copy_kind(static_cast<spool::MemcpyKind>(kind))));
  for (std::uint32_t kind = 0; kind < 10; ++kind)
    table += fmt::format("overhead {}: {}, {}\n", kind, overhead_kind(kind), overhead_kind(kind << 16U));
  ridgeline::testing::expect_accepted("spool-words.txt", table);
}

}  // namespace
}  // namespace ridgeline::import
