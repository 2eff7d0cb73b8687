#include "ridgeline/store/extra_table.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ridgeline/store/capture.h"
#include "store/capture_testing.h"
#include "support/opened_capture.h"

namespace ridgeline::store::testing {
namespace {

using ridgeline::testing::held;

// Three rows of each type of value.
ExtraTable made_table(std::string name, int* asked = nullptr) {
  return {name, "CREATE TEMP TABLE " + name + "(id INTEGER, share REAL, word TEXT)", 3,
          [asked](const std::function<void(const ExtraTable::Row&)>& add) {
            if (asked != nullptr) ++*asked;
            add({Value(std::int64_t{7}), Value(0.25), Value(std::string("first"))});
            add({Value(std::int64_t{8}), Value(std::monostate{}), Value(std::string("second"))});
            add({Value(std::int64_t{9}), Value(0.75), Value(std::string())});
          }};
}

std::vector<std::vector<Value>> rows_of(const Capture& capture, const std::string& sql) {
  auto table = capture.query(sql);
  return table.ok() ? table.value().rows : std::vector<std::vector<Value>>{};
}

TEST(ExtraTable, EachColumnOfEachRowIsSeen) {
  TemporaryDirectory directory;
  const Capture capture = held(Capture::open(write_file(directory))).value();
  int asked = 0;
  const ExtraTable table = made_table("extra", &asked);
  const auto rows = rows_of(capture, "SELECT id, share, word FROM extra ORDER BY id");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], (std::vector<Value>{std::int64_t{7}, 0.25, std::string("first")}));
  EXPECT_EQ(rows[1], (std::vector<Value>{std::int64_t{8}, std::monostate{}, std::string("second")}));
  EXPECT_EQ(rows[2], (std::vector<Value>{std::int64_t{9}, 0.75, std::string()}));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(rows_of(capture, "SELECT count(*) FROM extra JOIN launch ON 1").size(), 1U)
      << "beside the capture's own";
  EXPECT_EQ(asked, 2) << "made anew for each query";
}

TEST(ExtraTable, IsThereWhileItLivesForItsThreadAndTheLastCounts) {
  TemporaryDirectory directory;
  const Capture capture = held(Capture::open(write_file(directory))).value();
  const auto sees = [&](const std::string& name) {
    return !rows_of(capture, "SELECT * FROM " + name).empty();
  };
  {
    const ExtraTable outer = made_table("outer_one");
    EXPECT_TRUE(sees("outer_one"));
    {
      const ExtraTable inner = made_table("inner_one");
      EXPECT_TRUE(sees("inner_one"));
      EXPECT_FALSE(sees("outer_one"));
    }
    EXPECT_TRUE(sees("outer_one"));
    EXPECT_FALSE(sees("inner_one"));
    bool elsewhere = true;
    std::thread([&] { elsewhere = sees("outer_one"); }).join();
    EXPECT_FALSE(elsewhere);
  }
  EXPECT_FALSE(sees("outer_one"));
}

}  // namespace
}  // namespace ridgeline::store::testing
