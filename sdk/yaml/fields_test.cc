#include "sdk/yaml/fields.h"

#include <gtest/gtest.h>

namespace glim::yaml {
namespace {

struct Settings {
  std::string name = "none";
  int count = 1;
  Duration time = Seconds(1);
  std::int64_t weight = 1000;
  double share = 0.5;
  bool on = false;
};

Fields FieldsOf(Settings* out) {
  return {{"name", IntoName(&out->name)},
          {"count", IntoNumber(&out->count, 1, 9)},
          {"time", IntoDuration(&out->time, Seconds(1), Hours(1))},
          {"weight", IntoPermille(&out->weight, 0, 10'000)},
          {"share", IntoReal(&out->share, 0, 1)},
          {"on", IntoBool(&out->on)}};
}

TEST(Fields, ReadEachKindOfValue) {
  Settings s;
  const Status read =
      ReadText("{name: kim, count: 3, time: 5m, weight: 1.25, share: 2.5e-1, on: true}", "a.yaml", FieldsOf(&s));
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(s.name, "kim");
  EXPECT_EQ(s.count, 3);
  EXPECT_EQ(s.time, Minutes(5));
  EXPECT_EQ(s.weight, 1250);
  EXPECT_EQ(s.share, 0.25);
  EXPECT_TRUE(s.on);
}

TEST(Fields, ARefusalSaysWhereWhatAndHowToMendIt) {
  const struct {
    const char* text;
    const char* message;
    const char* field;
    const char* fix;
  } cases[] = {
      {"coutn: 1", "a.yaml:1:1: coutn: unknown key", "coutn", "did you mean 'count'?"},
      {"count:", "a.yaml:1:1: count: has no value", "count", "use 1 to 9"},
      {"count: 10", "a.yaml:1:8: count: 10 is out of range", "count", "use 1 to 9"},
      {"count: few", "a.yaml:1:8: count: 'few' is no whole number", "count", "use 1 to 9"},
      {"time: 10", "a.yaml:1:7: time: must be a duration", "time", "write it like 250ms, 10s, 5m, 2h or 30d"},
      {"time: 2h", "a.yaml:1:7: time: 2h is out of range", "time", "use 1s to 1h"},
      {"share: 1.5", "a.yaml:1:8: share: 1.5 is out of range", "share", "use a number from 0 to 1"},
      {"share: nan", "a.yaml:1:8: share: nan is out of range", "share", "use a number from 0 to 1"},
      {"on: yes", "a.yaml:1:5: on: must be true or false", "on", "write true or false"},
      {"name: a b", "a.yaml:1:7: name: must be a name", "name", "use 1 to 64 characters of A-Z a-z 0-9 . _ -"},
      {"- 1", "a.yaml:1:1: must be a mapping of keys to values", "", "write it like 'key: value'"},
  };
  for (const auto& c : cases) {
    Settings s;
    const Status status = ReadText(c.text, "a.yaml", FieldsOf(&s));
    EXPECT_EQ(status.message(), c.message) << c.text;
    EXPECT_EQ(status.field(), c.field) << c.text;
    EXPECT_EQ(status.fix(), c.fix) << c.text;
    EXPECT_EQ(status.reason(), "BAD_CONFIG") << c.text;
  }
}

TEST(PermilleText, IsShort) {
  EXPECT_EQ(PermilleText(1200), "1.2");
  EXPECT_EQ(PermilleText(1005), "1.005");
  EXPECT_EQ(PermilleText(40), "0.04");
  EXPECT_EQ(PermilleText(2000), "2");
}

}  // namespace
}  // namespace glim::yaml
