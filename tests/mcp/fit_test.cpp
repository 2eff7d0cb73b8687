#include "fit.h"

#include <gtest/gtest.h>

namespace ridgeline::mcp {
namespace {

TEST(Fit, WhatFitsIsLeftAsItIs) {
  Json answer = {{"rows", {1, 2, 3}}, {"text", "short"}};
  const Json before = answer;
  fit(answer);
  EXPECT_EQ(answer, before);
}

TEST(Fit, TheLargestListLosesItsEndAndThatIsSaid) {
  Json answer = {{"small", {1, 2, 3}}, {"rows", Json::array()}};
  for (int i = 0; i < 5000; ++i) answer["rows"].push_back({{"place", i}});
  fit(answer);
  EXPECT_LE(one_line_json(answer).size(), kMaxAnswerBytes);
  EXPECT_EQ(answer["small"].size(), 3U);
  ASSERT_GT(answer["rows"].size(), 10U);
  EXPECT_EQ(answer["rows"][3]["place"], 3) << "the first are kept";
  EXPECT_EQ(answer["left_out"]["rows"].get<std::size_t>() + answer["rows"].size(), 5000U);
}

TEST(Fit, ListsInListsAreCutToo) {
  Json answer = {{"cases", Json::array({{{"ids", Json::array()}}})}};
  for (int i = 0; i < 9000; ++i) answer["cases"][0]["ids"].push_back(i);
  fit(answer);
  EXPECT_LE(one_line_json(answer).size(), kMaxAnswerBytes);
  EXPECT_GT(answer["left_out"]["cases[].ids"].get<int>(), 1000);
}

TEST(Fit, LongTextsAreCutAtACharacter) {
  std::string name;
  for (int i = 0; i < 4000; ++i) name += "µ";
  Json answer = {{"kernel", name}};
  fit(answer);
  EXPECT_LE(answer["kernel"].get<std::string>().size(), kMaxTextBytes);
  Json many = Json::object();
  for (int i = 0; i < 100; ++i) many["member " + std::to_string(i)] = name;
  fit(many);
  EXPECT_LE(one_line_json(many).size(), kMaxAnswerBytes);
}

}  // namespace
}  // namespace ridgeline::mcp
