#include "sdk/checkpoint/format/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/manifest_check.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/testing/sample.h"

namespace glim::checkpoint {
namespace {

using testing::kMiB;

// Two shards: "a" cut in two, "b" of one piece, "none" without bytes, "rows" distributed.
Manifest Good() {
  Manifest good;
  good.attempt = 2;
  good.step = 1200;
  good.world_size = 2;
  good.created_at_ms = 1'700'000'000'123;
  good.metadata = {{"lr", "0.1"}, {"note", "line\nwith \"quotes\" \\ and \xc3\xb6"}};
  good.shards = {{"shard-00000-of-00002.safetensors", 4096 + 5 * kMiB + 40, 7},
                 {"shard-00001-of-00002.safetensors", 8192 + 8 * kMiB + 4 + 20, 0xFFFF'FFFF}};
  good.tensors = {
      {{"a", DType::kF32, {13, kMiB / 4}},
       {{0, 4096, 5 * kMiB, 0, {1, 2}}, {1, 8192, 8 * kMiB, 5 * kMiB, {3, 4}}},
       false},
      {{"b", DType::kI32, {}}, {{1, 8192 + 8 * kMiB, 4, 0, {5}}}, false},
      {{"none", DType::kBF16, {0, 3}}, {}, false},
      {{"rows", DType::kF32, {3, 5}}, {{0, 4096 + 5 * kMiB, 40, 0, {6}}, {1, 8192 + 8 * kMiB + 4, 20, 40, {7}}}, true}};
  return good;
}

// `text` with the checksum that it must have to be read at all.
std::string Sealed(std::string text) {
  const std::string seal = ",\"manifest_crc32c\":";
  text.resize(std::min(text.size(), text.rfind(seal)));
  return text + seal + std::to_string(Crc32c(std::as_bytes(std::span(text)))) + "}\n";
}

// Good's text with `from` replaced by `to`, sealed.
std::string Edited(const std::string& from, const std::string& to) {
  std::string text = ToJson(Good());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return Sealed(text.replace(at, from.size(), to));
}

TEST(Manifest, ReadsBackWhatIsWritten) {
  const auto again = ParseManifest(ToJson(Good()));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, Good());
  const Manifest empty;
  const auto nothing = ParseManifest(ToJson(empty));
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
  EXPECT_EQ(*nothing, empty);
}

TEST(Manifest, FindsATensorByName) {
  const Manifest good = Good();
  for (const TensorEntry& entry : good.tensors) EXPECT_EQ(good.Find(entry.info.name), &entry);
  for (const char* name : {"", "A", "aa", "c", "z"}) EXPECT_EQ(good.Find(name), nullptr) << name;
}

TEST(Manifest, APartHasARankAndMayLackPieces) {
  Part part{.rank = 1, .manifest = Good()};
  part.manifest.shards.erase(part.manifest.shards.begin());
  for (TensorEntry& entry : part.manifest.tensors) {
    if (entry.pieces.size() == 2) entry.pieces.erase(entry.pieces.begin());
    for (Piece& piece : entry.pieces) piece.shard = 0;
  }
  const auto again = ParsePart(ToJson(part));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, part);
  EXPECT_EQ(ParseManifest(ToJson(part)).status().field(), "") << "no checkpoint";
  EXPECT_EQ(ParseManifest(ToJson(part.manifest)).status().field(), "tensors[0].pieces[0].at");
  EXPECT_EQ(ParsePart(ToJson(part.manifest)).status().message(), "\"rank\" is missing");
  part.rank = 2;
  EXPECT_EQ(ParsePart(ToJson(part)).status().field(), "rank");
}

struct Fault {
  const char* field;
  std::function<void(Manifest&)> make;
};

TEST(Manifest, RefusesWhatAReaderWouldHaveToTrust) {
  const std::vector<Fault> faults = {
      {"world_size", [](Manifest& m) { m.world_size = 0; }},
      {"created_at_ms", [](Manifest& m) { m.created_at_ms = -1; }},
      {"shards[0].file", [](Manifest& m) { m.shards[0].file = ""; }},
      {"shards[0].file", [](Manifest& m) { m.shards[0].file = ".."; }},
      {"shards[0].file", [](Manifest& m) { m.shards[0].file = "../../etc/passwd"; }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = "/etc/passwd"; }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = "a/b"; }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = "a\\b"; }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = std::string("a\0b", 3); }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = std::string(256, 'a'); }},
      {"shards[1].file", [](Manifest& m) { m.shards[1].file = m.shards[0].file; }},
      {"shards[0].bytes", [](Manifest& m) { m.shards[0].bytes = 4095; }},
      {"shards[0].bytes", [](Manifest& m) { m.shards[0].bytes += 1; }},
      {"tensors[3].pieces[0].offset", [](Manifest& m) { m.shards[0].bytes -= 1; }},
      {"tensors[0].name", [](Manifest& m) { m.tensors[0].info.name = ""; }},
      {"tensors[1].name", [](Manifest& m) { m.tensors[1].info.name = "a"; }},
      {"tensors[1].name", [](Manifest& m) { m.tensors[1].info.name = "Z"; }},
      {"tensors[1].name", [](Manifest& m) { m.tensors[1].info.name = "b\n"; }},
      {"tensors[0].shape[16]", [](Manifest& m) { m.tensors[0].info.shape.assign(17, 1); }},
      {"tensors[0].shape",
       [](Manifest& m) {
         m.tensors[0].info.shape = {kTensorBytesMax, 2};
       }},
      {"tensors[0].pieces", [](Manifest& m) { m.tensors[0].info.shape[0] = 14; }},
      {"tensors[0].pieces[1].bytes", [](Manifest& m) { m.tensors[0].info.shape[0] = 12; }},
      {"tensors[0].pieces", [](Manifest& m) { m.tensors[0].pieces.clear(); }},
      {"tensors[0].pieces[0].at", [](Manifest& m) { m.tensors[0].pieces.erase(m.tensors[0].pieces.begin()); }},
      {"tensors[0].pieces[1].at",
       [](Manifest& m) { std::swap(m.tensors[0].pieces[0], m.tensors[0].pieces[1]), m.tensors[0].pieces[0].at = 0; }},
      {"tensors[0].pieces[1].at", [](Manifest& m) { m.tensors[0].pieces[1].at -= 4; }},
      {"tensors[0].pieces[1].at", [](Manifest& m) { m.tensors[0].pieces[1].at += 4; }},
      {"tensors[0].pieces[1].at", [](Manifest& m) { m.tensors[0].pieces[1].at -= 1; }},
      {"tensors[0].pieces[1].shard", [](Manifest& m) { m.tensors[0].pieces[1].shard = 2; }},
      {"tensors[1].pieces[0].bytes", [](Manifest& m) { m.tensors[1].pieces[0].bytes = 0; }},
      {"tensors[1].pieces[0].bytes", [](Manifest& m) { m.tensors[1].pieces[0].bytes = 3; }},
      {"tensors[0].pieces[0].offset", [](Manifest& m) { m.tensors[0].pieces[0].offset = 0; }},
      {"tensors[0].pieces[0].offset", [](Manifest& m) { m.tensors[0].pieces[0].offset = kTensorBytesMax; }},
      {"tensors[0].pieces[0].offset", [](Manifest& m) { m.tensors[0].pieces[0].offset += 4; }},
      {"tensors[1].pieces[0].offset", [](Manifest& m) { m.tensors[1].pieces[0].offset -= 4; }},
      {"tensors[1].pieces[0].offset", [](Manifest& m) { m.tensors[1].pieces[0].offset = 8192; }},
      {"tensors[3].pieces[1].offset", [](Manifest& m) { m.shards[1].bytes += 4, m.tensors[3].pieces[1].offset += 4; }},
      {"tensors[0].pieces[0].crc32c", [](Manifest& m) { m.tensors[0].pieces[0].crc32c.pop_back(); }},
      {"tensors[0].pieces[0].crc32c", [](Manifest& m) { m.tensors[0].pieces[0].crc32c.push_back(0); }},
      {"tensors[3].pieces[0].bytes",
       [](Manifest& m) {
         m.tensors[3].info.shape = {5, 3};
       }},
      {"tensors[3].by_rows", [](Manifest& m) { m.tensors[3].info.shape = {}; }},
  };
  for (const Fault& fault : faults) {
    Manifest bad = Good();
    fault.make(bad);
    const Status status = ParseManifest(ToJson(bad)).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << fault.field << "\n" << ToJson(bad);
    EXPECT_EQ(status.reason(), "BAD_MANIFEST");
    EXPECT_EQ(status.field(), fault.field) << status.message();
    EXPECT_EQ(status.message().find(fault.field), 0u) << status.message();
  }
}

struct Edit {
  const char* field;
  const char* from;
  std::string to;
};

TEST(Manifest, RefusesATextThatIsNone) {
  const std::vector<Edit> edits = {
      {"format", "glim-checkpoint", "other"},
      {"version", "\"version\":1", "\"version\":2"},
      {"", "\"version\":1,", ""},
      {"", "\"version\":1,", "\"version\":1,\"version\":1,"},
      {"", "\"version\":1,", "\"version\":1,\"more\":1,"},
      {"", "\"version\":1,", "\"version\":1,\"rank\":0,"},
      {"step", "\"step\":1200", "\"step\":NaN"},
      {"step", "\"step\":1200", "\"step\":-1"},
      {"step", "\"step\":1200", "\"step\":1200.0"},
      {"step", "\"step\":1200", "\"step\":1.2e3"},
      {"", "\"step\":1200", "\"step\":01200"},  // a number, and then what is no JSON
      {"step", "\"step\":1200", "\"step\":\"1200\""},
      {"step", "\"step\":1200", "\"step\":9223372036854775808"},
      {"step", "\"step\":1200", "\"step\":null"},
      {"attempt", "\"attempt\":2", "\"attempt\":4294967296"},
      {"metadata.lr", "\"lr\":\"0.1\"", "\"lr\":NaN"},
      {"metadata.lr", "\"lr\":\"0.1\"", "\"lr\":0.1"},
      {"metadata.lr", "\"lr\":\"0.1\"", "\"lr\":\"0.1\",\"lr\":\"0.2\""},
      {"metadata.lr", "\"lr\":\"0.1\"", "\"lr\":" + std::string(1'000'000, '[')},
      {"metadata", "\"metadata\":{", "\"metadata\":" + std::string(1'000'000, '[')},
      {"tensors[0].shape[1]", "\"shape\":[13,262144]", "\"shape\":[13,9223372036854775808]"},
      {"tensors[0].dtype", "F32", "F31"},
      {"tensors[0].pieces[0].offset", "\"offset\":4096", "\"offset\":18446744073709555712"},
      {"tensors[0].pieces[0]", "\"offset\":4096,", ""},
      {"tensors[0].pieces[0].crc32c[0]", "\"crc32c\":[1,", "\"crc32c\":[4294967296,"},
      {"tensors[3].by_rows", "\"by_rows\":true", "\"by_rows\":1"},
  };
  for (const Edit& edit : edits) {
    const Status status = ParseManifest(Edited(edit.from, edit.to)).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << edit.to.substr(0, 100);
    EXPECT_EQ(status.field(), edit.field) << edit.to.substr(0, 100) << ": " << status.message();
    EXPECT_FALSE(status.fix().empty());
  }
}

TEST(Manifest, ItsChecksumFindsEveryChange) {
  const std::string text = ToJson(Good());
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_EQ(ParseManifest(text.substr(0, bytes)).status().field(), "manifest_crc32c") << "cut to " << bytes;
  }
  EXPECT_FALSE(ParseManifest(text + " ").ok());
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = text;
    const auto at = [&] { return static_cast<std::size_t>(rng.Next() % text.size()); };
    for (std::int64_t edits = rng.Between(1, 3); edits > 0; --edits) {
      if (rng.OneIn(3)) {
        std::swap(changed[at()], changed[at()]);
      } else {
        changed[at()] ^= static_cast<char>(1 << rng.Between(0, 7));
      }
    }
    const auto parsed = ParseManifest(changed);
    EXPECT_TRUE(!parsed.ok() || *parsed == Good()) << changed;
    EXPECT_TRUE(parsed.ok() || parsed.status().code() == StatusCode::kDataLoss);
  }
}

TEST(Manifest, ChangedAtRandomAndSealedIsRefusedOrReadsBack) {
  const std::string text = ToJson(Good());
  const std::string kCharacters = "0123456789{}[]\",:\\ aF\n\xff";
  Rng rng(4);
  int accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string changed = text;
    for (std::int64_t edits = rng.Between(1, 2); edits > 0; --edits) {
      changed[rng.Next() % text.size()] = kCharacters[rng.Next() % kCharacters.size()];
    }
    const auto parsed = ParseManifest(Sealed(changed));
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), StatusCode::kDataLoss);
      continue;
    }
    ++accepted;
    const auto again = ParseManifest(ToJson(*parsed));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *parsed);
  }
  EXPECT_GT(accepted, 100) << "most changes of a checksum leave a good manifest";
}

TEST(Manifest, MetadataIsText) {
  EXPECT_TRUE(CheckMetadata(Good().metadata).ok());
  EXPECT_EQ(CheckMetadata({{"good", "x"}, {"bad", "\xff"}}).field(), "metadata.bad");
  EXPECT_EQ(CheckMetadata({{"bad\xff", "x"}}).field(), "metadata.bad?");
  EXPECT_EQ(CheckMetadata({{"bad", "\xff"}}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glim::checkpoint
