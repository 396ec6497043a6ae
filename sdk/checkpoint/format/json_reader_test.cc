#include "sdk/checkpoint/format/json_reader.h"

#include <gtest/gtest.h>

#include <array>

#include "sdk/checkpoint/format/json_writer.h"

namespace glim::checkpoint {
namespace {

// The string that `json` is, or the fault.
std::string ReadString(std::string_view json) {
  JsonReader reader(json, "BAD");
  const std::string text = reader.String();
  reader.End();
  return reader.ok() ? text : "refused: " + reader.fault().message();
}

TEST(JsonReader, ReadsStrings) {
  EXPECT_EQ(ReadString(R"("")"), "");
  EXPECT_EQ(ReadString(R"( "a b" )"), "a b");
  EXPECT_EQ(ReadString(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(ReadString(R"("\u0041\u00f6\u20AC\ud83d\ude00")"), "A\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(ReadString("\"\xc3\xb6\xf0\x9f\x98\x80\""), "\xc3\xb6\xf0\x9f\x98\x80");
}

TEST(JsonReader, RefusesWhatIsNoString) {
  for (const char* json :
       {"", "a", "\"", "\"a", "\"\n\"", "\"\xff\"", "\"\xc3\"", R"("\x")", R"("\)", R"("\u12")", R"("\u12g4")",
        R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ude00")", R"("a"b)"}) {
    EXPECT_TRUE(ReadString(json).starts_with("refused: expected ")) << json << ": " << ReadString(json);
  }
}

TEST(JsonReader, ReadsBackWhatIsWritten) {
  std::string every;
  for (int c = 0; c < 0x80; ++c) every += static_cast<char>(c);
  every += "\xc2\x80\xe2\x82\xac";
  std::string json;
  AppendQuoted(json, every);
  EXPECT_EQ(ReadString(json), every);
}

TEST(JsonReader, ReadsWholeNumbersUpToAMaximum) {
  const std::uint64_t largest = ~std::uint64_t{0};
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 63, largest}) {
    const std::string json = std::to_string(number);
    JsonReader reader(json, "BAD");
    EXPECT_EQ(reader.Number(largest), number);
    EXPECT_TRUE(reader.ok());
    JsonReader below(json, "BAD");
    if (number > 0) below.Number(number - 1);
    EXPECT_EQ(below.ok(), number == 0) << json;
  }
  for (const char* json : {"", "-1", "+1", "01", "00", "1.0", "1e3", "1E3", "NaN", "Infinity", "0x10", "\"1\"", "null",
                           "18446744073709551616", "99999999999999999999999999999999"}) {
    JsonReader reader(json, "BAD");
    reader.Number(largest);
    reader.End();
    EXPECT_FALSE(reader.ok()) << json;
  }
}

TEST(JsonReader, SaysWhereTextIsNoJson) {
  EXPECT_EQ(ReadString(""), "refused: expected JSON, found the end");
  EXPECT_EQ(ReadString("\"ab"), "refused: expected JSON, found the end");
  EXPECT_EQ(ReadString("\"a\"b"), "refused: expected JSON, found 'b' at byte 3");
  EXPECT_EQ(ReadString("\"a\nb\""), "refused: expected JSON, found '?' at byte 2");
  EXPECT_EQ(ReadString("[1]"), "refused: expected a string, found an array") << "JSON, but another";
}

TEST(JsonReader, RefusesWhatIsBesideTheText) {
  EXPECT_EQ(ReadString("\xEF\xBB\xBF\"a\""), "refused: expected JSON, found '?' at byte 0") << "a byte order mark";
  EXPECT_EQ(ReadString({"\"a\"\0", 4}), "refused: expected JSON, found '?' at byte 3");
  EXPECT_EQ(ReadString({"\"a\" \0\"b\"", 8}), "refused: expected JSON, found '?' at byte 4");
  EXPECT_EQ(ReadString({"\0\"a\"", 4}), "refused: expected JSON, found '?' at byte 0");
}

// The innermost of arrays in each other, each of one element.
std::uint64_t ReadNested(JsonReader& reader, int levels) {
  if (levels == 0) return reader.Number(9);
  std::uint64_t number = 0;
  reader.Array([&](std::size_t) { number = ReadNested(reader, levels - 1); });
  return number;
}

TEST(JsonReader, RefusesWhatIsTooDeep) {
  for (const int levels : {16, 17}) {
    const std::string json = std::string(levels, '[') + "7" + std::string(levels, ']');
    JsonReader reader(json, "BAD");
    const std::uint64_t number = ReadNested(reader, levels);
    reader.End();
    EXPECT_EQ(number, levels == 16 ? 7u : 0u);
    EXPECT_EQ(reader.fault().message().ends_with("found more than 16 levels"), levels == 17);
    EXPECT_EQ(reader.ok(), levels == 16);
  }
}

TEST(JsonReader, RefusesLargeTextOfMostlyLineEnds) {
  const std::string name = "\"" + std::string(std::size_t{1} << 21, 'a') + "\"";
  EXPECT_EQ(ReadString(name + std::string(std::size_t{1} << 21, ' ')).size(), name.size() - 2);
  EXPECT_EQ(ReadString(name + std::string(std::size_t{1} << 20, '\n')).size(), name.size() - 2);
  EXPECT_EQ(ReadString(name + std::string(std::size_t{1} << 21, '\n')),
            "refused: expected JSON, found mostly tabs and line ends");
}

TEST(JsonReader, AFaultNamesItsFieldAndIsTheLast) {
  constexpr std::array<std::string_view, 2> kNames = {"list", "flag"};
  JsonReader reader(R"({"flag": true, "list": [{"a": 1}, {"b": -2}]})", "BAD");
  bool flag = false;
  reader.Fields(kNames, 2, [&](std::size_t field) {
    if (field == 1) {
      flag = reader.Bool();
    } else {
      reader.Array([&](std::size_t) { reader.Members([&](const std::string&) { reader.Number(9); }); });
    }
  });
  EXPECT_TRUE(flag);
  EXPECT_EQ(reader.fault().field(), "list[1].b");
  EXPECT_EQ(reader.fault().code(), StatusCode::kDataLoss);
  EXPECT_EQ(reader.fault().reason(), "BAD");
  const Status first = reader.fault();
  reader.Fail("another");
  reader.End();
  EXPECT_EQ(reader.Number(1), 0u);
  EXPECT_EQ(reader.fault(), first);
}

TEST(JsonReader, FieldsAreTheOnesThatAreKnownEachOnce) {
  constexpr std::array<std::string_view, 2> kNames = {"must", "may"};
  const auto read = [&](std::string_view json) {
    JsonReader reader(json, "BAD");
    reader.Fields(kNames, 1, [&](std::size_t) { reader.Number(9); });
    reader.End();
    return reader.fault().message();
  };
  EXPECT_EQ(read(R"({"must":1})"), "");
  EXPECT_EQ(read(R"({"may":1,"must":1})"), "");
  EXPECT_EQ(read(R"({})"), "\"must\" is missing");
  EXPECT_EQ(read(R"({"may":1})"), "\"must\" is missing");
  EXPECT_EQ(read(R"({"must":1,"must":1})"), "\"must\" is there twice");
  EXPECT_EQ(read(R"({"must":1,"other":1})"), "\"other\" is unknown");
  for (const char* json : {R"({"must":1,})", R"({"must" 1})", R"({must:1})", R"({"must":1)", R"({"must":1}})", "[]"}) {
    EXPECT_NE(read(json).find("expected "), std::string::npos) << json << ": " << read(json);
  }
}

}  // namespace
}  // namespace glim::checkpoint
