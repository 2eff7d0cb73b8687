// Other processes on the GPU while values are taken: in which steps, and what is said of it.
#include <gtest/gtest.h>

#include "agent_testing.h"
#include "tiers/other_processes.h"

namespace ridgeline::agent {
namespace {

struct Company {
  Company() {
    spool::Writer::Options options;
    options.directory = directory.path();
    options.pid = 1;
    std::string error;
    writer = spool::Writer::create(options, &error);
    others = std::make_unique<OtherProcesses>(*writer);
  }
  std::vector<std::string> said() const {
    std::map<spool::StringId, std::string> strings;
    std::vector<spool::StringId> texts;
    std::string error;
    auto reader = spool::Reader::open(writer->path(), &error);
    EXPECT_TRUE(reader) << error;
    if (reader)
      reader->for_each([&](const spool::RecordView& r) {
        if (const auto* s = r.as<spool::StringRecord>()) strings[s->id] = r.trailing_bytes();
        if (const auto* m = r.as<spool::MessageRecord>()) {
          EXPECT_EQ(m->topic, spool::Topic::company);
          texts.push_back(m->text);
        }
      });
    std::vector<std::string> all;
    for (const spool::StringId text : texts) all.push_back(strings[text]);
    return all;
  }
  spool::testing::TemporaryDirectory directory;
  spool::Writer* writer = nullptr;  // never destroyed, as in the agent
  std::unique_ptr<OtherProcesses> others;
};

TEST(OtherProcesses, NothingIsSaidOfAProcessThatIsAlone) {
  Company c;
  c.others->measured(3, 1);
  c.others->seen({}, false);
  c.others->measured(4, 2);
  c.others->tell(3);
  EXPECT_TRUE(c.said().empty());
}

TEST(OtherProcesses, TheFirstStepIsSaidAtOnceAndAllOfThemAtTheEnd) {
  Company c;
  c.others->measured(3, 1);
  c.others->seen({4711, 4712}, false);
  for (const std::uint32_t step : {4u, 5u, 6u}) c.others->measured(step, 2);
  const auto first = c.said();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(
      first[0],
      "other processes (4711, 4712) are on this GPU: counters and samples from step 4 on hold the traffic of "
      "device memory and caches that others cause meanwhile");
  c.others->seen({}, false);  // they have gone
  c.others->measured(7, 3);
  c.others->seen({4713}, false);
  c.others->measured(9, 4);
  c.others->measured(spool::kFirstStretch + 2, 5);
  c.others->tell(6);
  const auto all = c.said();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1],
            "other processes (4711, 4712, 4713) are on this GPU: counters and samples hold the traffic of "
            "others in "
            "step 4 to step 6, step 9, stretch 2");
}

TEST(OtherProcesses, ARecordedOneIsKnownByItsTurns) {
  Company c;
  c.others->seen({}, true);
  c.others->measured(2, 1);
  const auto said = c.said();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].substr(0, 44), "another recorded process is on this GPU: cou");
}

TEST(OtherProcesses, AListWithoutEndIsCut) {
  Company c;
  c.others->seen({1, 2, 3, 4, 5, 6, 7}, false);
  for (std::uint32_t step = 0; step < 200; step += 2) c.others->measured(step, 1);
  c.others->tell(2);
  const auto said = c.said();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("(1, 2, 3, 4) are"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("step 22 and later ones"), std::string::npos) << said[1];
}

}  // namespace
}  // namespace ridgeline::agent
