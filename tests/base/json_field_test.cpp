// What a document has comes back as it is there, and whatever else is there is refused with its key.
#include "ridgeline/base/json_field.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

namespace ridgeline {
namespace {

using nlohmann::json;

// One value of every type that JSON has.
const std::vector<json>& of_every_type() {
  static const std::vector<json> values = {nullptr,
                                           true,
                                           "text",
                                           12,
                                           12.5,
                                           json::array({"a", "b"}),
                                           json::array({1}),
                                           json::object(),
                                           json::array({json::object()})};
  return values;
}

struct Reader {
  std::string name;
  std::function<void(const json&)> read;   // of the key "k"
  std::function<bool(const json&)> takes;  // values that it is meant for
};

bool all(const json& value, bool (*right)(const json&)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), right);
}

const std::vector<Reader>& readers() {
  const auto is_number = [](const json& v) { return v.is_number(); };
  const auto is_whole = [](const json& v) { return v == 12; };
  const auto is_text = [](const json& v) { return v.is_string(); };
  static const std::vector<Reader> all_readers = {
      {"list", [](const json& o) { (void)field::list(o, "k"); }, [](const json& v) { return v.is_array(); }},
      {"objects", [](const json& o) { (void)field::objects(o, "k"); },
       [](const json& v) { return all(v, [](const json& e) { return e.is_object(); }); }},
      {"texts", [](const json& o) { (void)field::texts(o, "k"); },
       [](const json& v) { return all(v, [](const json& e) { return e.is_string(); }); }},
      {"numbers", [](const json& o) { (void)field::numbers(o, "k"); },
       [](const json& v) { return all(v, [](const json& e) { return e.is_number(); }); }},
      {"flag", [](const json& o) { (void)field::flag(o, "k"); },
       [](const json& v) { return v.is_boolean(); }},
      {"text", [](const json& o) { (void)field::text(o, "k"); }, is_text},
      {"number", [](const json& o) { (void)field::number(o, "k"); }, is_number},
      {"amount", [](const json& o) { (void)field::amount(o, "k", 12.5); }, is_number},
      {"whole", [](const json& o) { (void)field::whole(o, "k"); }, is_whole},
      {"number_or_null", [](const json& o) { (void)field::number_or_null(o, "k"); },
       [is_number](const json& v) { return v.is_null() || is_number(v); }},
      {"whole_or_null", [](const json& o) { (void)field::whole_or_null(o, "k"); },
       [is_whole](const json& v) { return v.is_null() || is_whole(v); }},
      {"text_or_null", [](const json& o) { (void)field::text_or_null(o, "k"); },
       [is_text](const json& v) { return v.is_null() || is_text(v); }},
      {"amount_if", [](const json& o) { (void)field::amount_if(o, "k", 12.5); }, is_number},
      {"whole_if", [](const json& o) { (void)field::whole_if(o, "k"); }, is_whole},
      {"text_if", [](const json& o) { (void)field::text_if(o, "k"); }, is_text},
      {"flag_if", [](const json& o) { (void)field::flag_if(o, "k"); },
       [](const json& v) { return v.is_boolean(); }},
  };
  return all_readers;
}

// What reading says; empty if it takes the value.
std::string refusal(const Reader& reader, const json& object) {
  try {
    reader.read(object);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    return error.message();
  }
  return {};
}

TEST(JsonField, EachReaderTakesItsTypeAndNamesTheKeyOfEveryOther) {
  for (const Reader& reader : readers()) {
    for (const json& value : of_every_type()) {
      const std::string said = refusal(reader, {{"k", value}});
      EXPECT_EQ(said.empty(), reader.takes(value)) << reader.name << " of " << value << ": " << said;
      EXPECT_TRUE(said.empty() || said.starts_with("'k' ")) << said;
    }
  }
}

TEST(JsonField, AMissingKeyIsRefusedUnlessTheReaderSaysIf) {
  for (const Reader& reader : readers()) {
    for (const json& object : {json::object({{"other", 1}}), json(3), json(nullptr), json::array()}) {
      const std::string said = refusal(reader, object);
      EXPECT_EQ(said, reader.name.ends_with("_if") ? "" : "'k' is missing") << reader.name;
    }
  }
}

TEST(JsonField, WholeNumbersComeBackWithEveryDigitWhicheverWayTheyAreWritten) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> any(-(std::int64_t{1} << 53), std::int64_t{1} << 53);
  std::vector<std::int64_t> values = {0, 1, -1, std::int64_t{1} << 53, -(std::int64_t{1} << 53)};
  for (int i = 0; i < 200; ++i) values.push_back(any(random));
  for (const std::int64_t value : values) {
    EXPECT_EQ(field::whole(json::parse("{\"k\": " + std::to_string(value) + "}"), "k"), value);
    EXPECT_EQ(field::whole(json::parse("{\"k\": " + std::to_string(value) + ".0}"), "k"), value);
  }
  for (const char* text : {"9007199254740994", "-9007199254740994", "18446744073709551615", "1e300"}) {
    EXPECT_THROW((void)field::whole(json::parse("{\"k\": " + std::string(text) + "}"), "k"), Error) << text;
  }
}

TEST(JsonField, AnAmountIsFromNothingToItsLimitBothIncluded) {
  const auto read = [](double value) { return field::amount(json{{"k", value}}, "k", 2.5); };
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(2.5), 2.5);
  EXPECT_THROW((void)read(std::nextafter(2.5, 3)), Error);
  EXPECT_THROW((void)read(-1e-300), Error);
}

TEST(JsonField, EveryWordOfAnEnumerationIsReadAndNoOther) {
  for (const auto& word : Vocabulary<CeilingLevel>::kWords)
    EXPECT_EQ(field::word<CeilingLevel>(json{{"k", std::string(word.text)}}, "k"), word.value);
  try {
    (void)field::word<CeilingLevel>(json{{"k", "moon"}}, "k");
    FAIL() << "'moon' was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "'k' is 'moon', which is not a known level of a ceiling");
  }
}

TEST(JsonField, OrderedDocumentsAreReadAlike) {
  const auto object = nlohmann::ordered_json::parse(R"({"b": [1.5, 2], "a": ["x"], "c": {}})");
  EXPECT_EQ(field::numbers(object, "b"), (std::vector<double>{1.5, 2}));
  EXPECT_EQ(field::texts(object, "a"), std::vector<std::string>{"x"});
  EXPECT_TRUE(field::member(object, "c").is_object());
  EXPECT_FALSE(field::flag_if(object, "d"));
  EXPECT_TRUE(field::is_null(nlohmann::json{{"n", nullptr}}, "n"));
}

}  // namespace
}  // namespace ridgeline
