#include "sdk/checkpoint/format/shard_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "sdk/base/rng.h"

namespace glim::checkpoint {
namespace {

std::vector<ShardEntry> SomeEntries() {
  return {{.name = "empty", .dtype = DType::kF32, .shape = {0, 7}, .begin = 0, .end = 0},
          {.name = "w\"\\\xc3\xb6", .dtype = DType::kBF16, .shape = {2, 3}, .begin = 0, .end = 12},
          {.name = "scalar", .dtype = DType::kF64, .shape = {}, .begin = 12, .end = 20},
          {.name = "w@24", .dtype = DType::kBool, .shape = {5}, .begin = 20, .end = 25}};
}

// A file's start with this text for a header.
std::string Framed(std::string json) {
  std::string start(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(start.data(), &length, sizeof(length));
  return start + json;
}

Status FaultOf(const std::string& json, std::uint64_t data_bytes) {
  const std::string start = Framed(json);
  return ParseShardHeader(start, start.size() + data_bytes).status();
}

TEST(ShardHeader, ReadsBackWhatIsBuilt) {
  for (const std::vector<ShardEntry>& entries : {SomeEntries(), std::vector<ShardEntry>()}) {
    const std::uint64_t data_bytes = entries.empty() ? 0 : entries.back().end;
    const auto built = BuildShardHeader(entries);
    ASSERT_TRUE(built.ok());
    EXPECT_EQ(built->size() % kDataAlignment, 0u);
    const auto parsed = ParseShardHeader(*built, built->size() + data_bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->data_start, built->size());
    EXPECT_EQ(parsed->entries, entries);
  }
}

TEST(ShardHeader, IsTextWithSpacesBehind) {
  const auto built = BuildShardHeader({{.name = "a", .dtype = DType::kI32, .shape = {2, 1}, .begin = 0, .end = 8}});
  const std::string json = R"({"a":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]}})";
  EXPECT_EQ(*built, Framed(json + std::string(4096 - 8 - json.size(), ' ')));
}

TEST(ShardHeader, OfMoreArraysThanReadersAcceptIsRefused) {
  std::vector<ShardEntry> entries(110'000);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].name = std::to_string(i) + std::string(1000, 'x');
  for (ShardEntry& entry : entries) entry.shape = {0};
  EXPECT_EQ(BuildShardHeader(entries).status().code(), StatusCode::kResourceExhausted);
}

TEST(ShardHeader, SaysHowMuchOfTheFileItNeeds) {
  const std::string built = *BuildShardHeader(SomeEntries());
  const auto first = std::as_bytes(std::span(built)).first<8>();
  EXPECT_EQ(*ShardHeaderBytes(first, built.size() + 25), built.size());
  for (const std::size_t there : {std::size_t{0}, std::size_t{7}, std::size_t{8}, built.size() - 1}) {
    EXPECT_EQ(ParseShardHeader(built.substr(0, there), built.size() + 25).status().code(), StatusCode::kOutOfRange);
  }
}

TEST(ShardHeader, RefusesAnAbsurdLength) {
  for (const std::uint64_t length :
       {std::uint64_t{10} << 30, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{kHeaderBytesMax} + 1}) {
    std::string start(4096, ' ');
    std::memcpy(start.data(), &length, sizeof(length));
    const auto status = ParseShardHeader(start, std::uint64_t{1} << 62).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << length;
    EXPECT_NE(status.message().find("a header of " + std::to_string(length) + " bytes"), std::string::npos);
  }
  std::string start = Framed("{}");
  EXPECT_EQ(ParseShardHeader(start, 9).status().code(), StatusCode::kDataLoss) << "longer than the file";
  EXPECT_EQ(ParseShardHeader("", 7).status().code(), StatusCode::kDataLoss) << "a file without a length";
}

TEST(ShardHeader, TakesWhatOtherWritersWrite) {
  EXPECT_TRUE(FaultOf("{}", 0).ok());
  EXPECT_TRUE(FaultOf("{ \"a\" : { \"shape\" : [ ] , \"data_offsets\":[0,1], \"dtype\":\"U8\" } } \n", 1).ok());
  EXPECT_TRUE(FaultOf(R"({"__metadata__":{"format":"pt"},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                      1)
                  .ok());
  EXPECT_TRUE(FaultOf(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                      3)
                  .ok());
}

struct Refused {
  const char* what;  // part of the message
  std::string json;
  std::uint64_t data_bytes;
};

std::string Entry(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(ShardHeader, RefusesWhatAReaderWouldHaveToTrust) {
  const std::string a = Entry("a", "[4]", "[0,4]");
  const std::vector<Refused> refused = {
      {"does not begin with '{'", "", 0},
      {"does not begin with '{'", " {}", 0},
      {"does not begin with '{'", "[]", 0},
      {"expected", "{", 0},
      {"expected", "{" + a + "} x", 4},
      {"expected", "{" + a + ",}", 4},
      {"a hole", "{" + a + "," + Entry("b", "[1]", "[5,6]") + "}", 6},
      {"a hole", "{" + Entry("b", "[1]", "[1,2]") + "}", 2},
      {"inside another", "{" + a + "," + Entry("b", "[2]", "[3,5]") + "}", 5},
      {"inside another", "{" + a + "," + Entry("b", "[4]", "[0,4]") + "}", 4},
      {"describes 4 bytes", "{" + a + "}", 5},
      {"describes 4 bytes", "{" + a + "}", 3},
      {"as far apart", "{" + Entry("a", "[4]", "[0,5]") + "}", 5},
      {"as far apart", "{" + Entry("a", "[4]", "[4,0]") + "}", 0},
      {"as far apart", "{" + Entry("a", "[4611686018427387904,4]", "[0,0]") + "}", 0},
      {"above", "{" + Entry("a", "[9223372036854775808]", "[0,0]") + "}", 0},
      {"above", "{" + Entry("a", "[4]", "[18446744073709551612,18446744073709551616]") + "}", 0},
      {"twice", "{" + a + "," + Entry("a", "[1]", "[4,5]") + "}", 5},
      {"twice", "{" + a + "," + Entry("\\u0061", "[1]", "[4,5]") + "}", 5},
      {"twice", R"({"__metadata__":{},"__metadata__":{}})", 0},
      {"twice", R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1},
      {"16 dimensions", "{" + Entry("a", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1},
      {"two offsets", "{" + Entry("a", "[0]", "[0]") + "}", 0},
      {"two offsets", "{" + Entry("a", "[0]", "[0,0,0]") + "}", 0},
      {"unknown", R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", 1},
      {"unknown", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1},
      {"missing", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1},
      {"expected", R"({"__metadata__":{"lr":NaN}})", 0},
      {"expected", "{" + Entry("a", "[-1]", "[0,1]") + "}", 1},
      {"expected", "{" + Entry("a", "[NaN]", "[0,1]") + "}", 1},
      {"expected", "{\"a\":" + std::string(1'000'000, '['), 0},
      {"expected", "{\"__metadata__\":" + std::string(1'000'000, '{'), 0},
  };
  for (const Refused& wrong : refused) {
    const Status status = FaultOf(wrong.json, wrong.data_bytes);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << wrong.json.substr(0, 200);
    EXPECT_NE(status.message().find(wrong.what), std::string::npos) << wrong.what << ": " << status.message();
    EXPECT_EQ(status.reason(), "BAD_SHARD");
  }
}

// What must hold of a header that was accepted, found out in another way.
void ExpectSound(const ShardHeader& header, std::uint64_t data_bytes) {
  std::set<std::string> names;
  std::uint64_t end = 0;
  for (const ShardEntry& entry : header.entries) {
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_EQ(entry.begin, end);
    end = entry.begin;
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : entry.shape) elements *= dimension;
    end += elements * SizeOf(entry.dtype);
    EXPECT_EQ(entry.end, end);
  }
  EXPECT_EQ(end, data_bytes);
}

TEST(ShardHeader, ChangedAtRandomIsRefusedOrSound) {
  std::string good = *BuildShardHeader(SomeEntries());
  good.resize(good.find_last_not_of(' ') + 1);
  good = Framed(good.substr(8));
  const std::string kCharacters = "0123456789{}[]\",:\\ aF_\xff";
  Rng rng(7);
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string changed = good;
    for (std::int64_t edits = rng.Between(1, 3); edits > 0; --edits) {
      const std::size_t first = rng.OneIn(9) ? 0 : 8;  // seldom the length
      changed[first + rng.Next() % (good.size() - first)] = kCharacters[rng.Next() % kCharacters.size()];
    }
    const auto parsed = ParseShardHeader(changed, changed.size() + 25);
    if (!parsed.ok()) {
      EXPECT_TRUE(parsed.status().code() == StatusCode::kDataLoss || parsed.status().code() == StatusCode::kOutOfRange);
      continue;
    }
    ++accepted;
    ExpectSound(*parsed, 25);
  }
  EXPECT_GT(accepted, 100) << "most changes of names leave a good header";
}

}  // namespace
}  // namespace glim::checkpoint
