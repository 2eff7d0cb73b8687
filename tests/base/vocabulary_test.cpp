#include "ridgeline/base/vocabulary.h"

#include <gtest/gtest.h>

#include <set>

#include "ridgeline/base/collective.h"
#include "ridgeline/base/stream_words.h"
#include "ridgeline/base/tier_set.h"

namespace ridgeline {
namespace {

template <typename E>
class Words : public ::testing::Test {};

using Enumerations =
    ::testing::Types<Tier, Phase, StepStatus, StepSource, PeakSource, Severity, TierOutcome, WindowStatus,
                     WindowCause, ExclusionReason, CopyKind, SynchronisationCall, Quantity, LaunchStatus,
                     MissingReason, CeilingLevel, CeilingState, StreamCall, StreamKind, GraphNodeKind,
                     MemoryCall, LeftOut>;
TYPED_TEST_SUITE(Words, Enumerations);

TYPED_TEST(Words, EachValueHasItsOwnWordAndTheWordLeadsBack) {
  std::set<std::string_view> texts;
  std::set<TypeParam> values;
  for (const Word<TypeParam>& word : Vocabulary<TypeParam>::kWords) {
    EXPECT_FALSE(word.text.empty());
    EXPECT_TRUE(texts.insert(word.text).second) << word.text;
    EXPECT_TRUE(values.insert(word.value).second) << word.text;
    EXPECT_EQ(to_string(word.value), word.text);
    EXPECT_EQ(parse_word<TypeParam>(word.text), word.value);
    EXPECT_TRUE(is_known(word.value));
  }
}

TYPED_TEST(Words, OtherWordsAndNumbersHaveNoValue) {
  EXPECT_EQ(parse_word<TypeParam>(""), std::nullopt);
  EXPECT_EQ(parse_word<TypeParam>("no such word"), std::nullopt);
  const auto beyond = static_cast<TypeParam>(200);
  EXPECT_FALSE(is_known(beyond));
  EXPECT_EQ(to_string(beyond), "unknown");
}

TEST(Vocabulary, NumbersInSpoolsAreNeverChanged) {
  EXPECT_EQ(static_cast<int>(Phase::warmup), 1);
  EXPECT_EQ(static_cast<int>(Phase::flops), 7);
  EXPECT_EQ(static_cast<int>(Severity::error), 3);
  EXPECT_EQ(static_cast<int>(WindowStatus::failed), 3);
  EXPECT_EQ(static_cast<int>(WindowCause::exit), 5);
  EXPECT_EQ(static_cast<int>(ExclusionReason::cooperative), 5);
  EXPECT_EQ(static_cast<int>(SynchronisationCall::device), 1);
  EXPECT_EQ(static_cast<int>(SynchronisationCall::free_host), 10);
  static_assert(sizeof(Phase) == 4 && sizeof(Severity) == 4 && sizeof(WindowStatus) == 4 &&
                sizeof(WindowCause) == 4 && sizeof(ExclusionReason) == 4 && sizeof(SynchronisationCall) == 4);
}

TEST(Vocabulary, NumbersOfStreamsAndGraphsAreNeverChanged) {
  EXPECT_EQ(static_cast<int>(StreamCall::event_record), 1);
  EXPECT_EQ(static_cast<int>(StreamCall::stream_awaited), 9);
  EXPECT_EQ(static_cast<int>(StreamKind::per_thread), 4);
  EXPECT_EQ(static_cast<int>(GraphNodeKind::kernel), 1);
  EXPECT_EQ(static_cast<int>(GraphNodeKind::conditional), 14);
  EXPECT_EQ(static_cast<int>(MemoryCall::free_physical), 7);
  EXPECT_EQ(static_cast<int>(LeftOut::memory_calls), 3);
  for (const Word<MemoryCall>& word : Vocabulary<MemoryCall>::kWords)
    EXPECT_EQ(allocates(word.value), word.text.substr(0, 5) == "alloc") << word.text;
}

TEST(Collective, ALibrarysOwnNamesWaitForPeersAndWordsAloneDoNot) {
  for (const char* name : {"_Z20ncclDevKernel_SendRecvv", "_ZN7nvshmem3getEv",
                           "_ZN7deep_ep9internode8dispatchEv", "_ZN7mscclpp9allgatherEv", "_Z11userbuffersv",
                           "_Z19cross_device_reducev", "_Z19multimem_all_reducev"})
    EXPECT_TRUE(waits_for_peers(name)) << name;
  for (const char* name : {"_Z18warp_all_reduce_sumv", "_Z10all_gatherv", "_Z4gemmv", ""})
    EXPECT_FALSE(waits_for_peers(name)) << name;
  for (const CollectiveMark& mark : kCollectiveMarks) {
    EXPECT_FALSE(mark.words.empty());
    EXPECT_EQ(mark.symbol.empty() ? false : !waits_for_peers(mark.symbol), false) << mark.words;
  }
}

TEST(Vocabulary, WordsAreThoseOfCaptures) {
  EXPECT_EQ(to_string(Tier::t2), "T2");
  EXPECT_EQ(to_string(TierOutcome::not_requested), "not_requested");
  EXPECT_EQ(to_string(ExclusionReason::time_out), "time-out");
  EXPECT_EQ(to_string(CopyKind::host_to_device), "HtoD");
  EXPECT_EQ(parse_word<Tier>("t2"), std::nullopt) << "case counts";
}

TEST(TierSet, HoldsEachTierOnceInOrder) {
  TierSet tiers;
  EXPECT_TRUE(tiers.empty());
  EXPECT_EQ(to_string(tiers), "");
  tiers |= Tier::t2;
  tiers |= Tier::t1;
  tiers |= Tier::t2;
  EXPECT_EQ(to_string(tiers), "T1,T2");
  EXPECT_TRUE(tiers.has(Tier::t1));
  EXPECT_FALSE(tiers.has(Tier::t0));
  EXPECT_EQ(tiers, TierSet(Tier::t1) | Tier::t2);
  EXPECT_FALSE(tiers == TierSet(Tier::t1));
}

}  // namespace
}  // namespace ridgeline
