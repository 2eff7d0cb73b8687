// Reasons: values by name, what is below what, and an order.
#include "ridgeline/base/reason.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace ridgeline {
namespace {

TEST(ReasonTest, ASentenceAloneHasNoCode) {
  const Reason sentence = "no permission";
  EXPECT_EQ(sentence.code, ReasonCode::none_given);
  EXPECT_EQ(sentence.text, "no permission");
  EXPECT_FALSE(sentence.empty());
  EXPECT_TRUE(Reason().empty());
  EXPECT_TRUE(Reason("").empty());
  EXPECT_FALSE(Reason(ReasonCode::no_reason).empty()) << "that none is given is something";
}

TEST(ReasonTest, ValuesAreFoundByNameAndKind) {
  const Reason reason(ReasonCode::counted_steps_lost, {{"ok", 7}, {"covered_ratio", 0.25}, {"tier", "T2"}});
  EXPECT_EQ(reason.number("ok"), 7);
  EXPECT_EQ(reason.real("covered_ratio"), 0.25);
  EXPECT_EQ(reason.word("tier"), "T2");
  EXPECT_TRUE(reason.has("ok"));
  EXPECT_FALSE(reason.has("steps"));
  EXPECT_EQ(reason.number("tier"), 0) << "a word is no number";
  EXPECT_EQ(reason.real("steps"), 0);
  EXPECT_EQ(reason.word("ok"), "");
}

TEST(ReasonTest, HoldsItselfAndWhatIsBelow) {
  const Reason leaf = Reason::said(ReasonCode::counters_refused, "no");
  const Reason whole = Reason(ReasonCode::no_counters, {}, {Reason(ReasonCode::several, {}, {leaf})});
  EXPECT_TRUE(whole.holds(whole) && whole.holds(leaf));
  EXPECT_FALSE(leaf.holds(whole));
  EXPECT_FALSE(whole.holds(Reason("no"))) << "the same words without the code are not the same";
}

TEST(ReasonTest, PartsTogether) {
  EXPECT_TRUE(Reason::together({}).empty());
  EXPECT_EQ(Reason::together({"a"}), Reason("a"));
  EXPECT_EQ(Reason::together({"a", "b"}).because.size(), 2u);
}

TEST(ReasonTest, AnyTwoHaveAnOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::set<Reason> reasons = {"a",
                                    "b",
                                    Reason(ReasonCode::several),
                                    Reason(ReasonCode::several, {{"n", 1}}),
                                    Reason(ReasonCode::several, {{"n", 2}}),
                                    Reason(ReasonCode::several, {{"n", 1.0}}),
                                    Reason(ReasonCode::several, {{"n", nan}}),
                                    Reason(ReasonCode::several, {{"n", "1"}}),
                                    Reason(ReasonCode::several, {{"n", 1}, {"m", 1}}),
                                    Reason(ReasonCode::several, {}, {"a"})};
  EXPECT_EQ(reasons.size(), 10u);
  for (const Reason& each : reasons) EXPECT_EQ(reasons.count(each), 1u);
}

TEST(ReasonTest, EveryCodeHasOneWord) {
  std::set<std::string_view> words;
  for (const auto& word : Vocabulary<ReasonCode>::kWords) words.insert(word.text);
  EXPECT_EQ(words.size(), std::size(Vocabulary<ReasonCode>::kWords));
  EXPECT_EQ(words.size(), static_cast<std::size_t>(ReasonCode::counters_unreadable) + 1);
}

}  // namespace
}  // namespace ridgeline
