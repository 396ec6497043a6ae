// What writers, services and readers promise each other, over every wire that UCX has here.
#include "sdk/checkpoint/replica/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/replica/testing/replica.h"

namespace glim::checkpoint {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of this folder
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kRows = 5 * kMiB + 321;  // more than a chunk, and not a multiple of anything

struct ReplicaTest : ::testing::TestWithParam<const char*> {
  ReplicaServiceOptions ServiceOptions(std::uint64_t memory = 64 * kMiB) const {
    ReplicaServiceOptions options;
    options.ucx_tls = GetParam();
    options.memory_bytes = memory;
    return options;
  }
  std::unique_ptr<ReplicaSink> Writer(const ThreadService& service, std::uint32_t attempt, std::uint32_t rank = 0,
                                      std::uint32_t world = 1) const {
    return MakeReplicaWriter(service.address(), OptionsFor(GetParam(), attempt, rank, world)).value();
  }
  std::unique_ptr<ReplicaSource> Source(const std::vector<std::string>& peers, std::uint32_t attempt = 0) const {
    auto source = OpenReplicaSource(peers, OptionsFor(GetParam(), attempt, 0, 1));
    EXPECT_TRUE(source.ok()) << source.status().message();
    return source.ok() ? std::move(source).value() : nullptr;
  }
};

// The whole tensor by way of the loader, which checks every chunk.
Result<std::vector<std::byte>> LoadW(ReplicaSource& source, CheckpointId id) {
  Result<std::unique_ptr<Checkpoint>> checkpoint = OpenCheckpoint(source, id);
  if (!checkpoint.ok()) return checkpoint.status();
  const TensorEntry* w = (*checkpoint)->manifest().Find("w");
  if (w == nullptr) return Status(StatusCode::kNotFound, "w");
  std::vector<std::byte> data(w->info.bytes().value());
  const LoadRange range{"w", 0, data};
  const Result<IoReport> report = (*checkpoint)->Load({&range, 1});
  if (!report.ok()) return report.status();
  return data;
}

TEST_P(ReplicaTest, WhatManyRanksWroteToManyServicesIsLoadedAsOne) {
  const ThreadService even(ServiceOptions());
  const ThreadService odd(ServiceOptions());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const auto writer = Writer(rank % 2 == 0 ? even : odd, 1, rank, 3);
    const Share share = MakeShare({1, 7}, rank, 3, kRows);
    const Result<ReplicaReport> report = Send(*writer, share);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->bytes, share.image.size() + share.part_json.size());
    EXPECT_EQ(report->peer, (rank % 2 == 0 ? even : odd).place());
  }
  const auto source = Source({even.address(), odd.address()});
  EXPECT_THAT(source->Whole().value(), ElementsAre(CheckpointId{1, 7}));
  const auto loaded = LoadW(*source, {1, 7});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(*loaded == WholeTensor({1, 7}, 3, kRows));
}

TEST_P(ReplicaTest, TheTwoNewestAreHeldAndMemoryIsUsedAgain) {
  const ThreadService service(ServiceOptions(2 * 6 * kMiB));  // two shares, no more
  const auto writer = Writer(service, 1);
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const Share share = MakeShare({1, step}, 0, 1, kRows);
    writer->Register(share.image);
    ASSERT_TRUE(Send(*writer, share).ok());
    writer->Forget();
    const auto source = Source({service.address()});
    EXPECT_EQ(source->Whole()->back(), (CheckpointId{1, step}));
    EXPECT_EQ(source->Whole()->size(), std::min<std::size_t>(2, step));
    EXPECT_TRUE(LoadW(*source, {1, step}).value() == WholeTensor({1, step}, 1, kRows)) << step;
  }
}

TEST_P(ReplicaTest, ACheckpointOfWhichARankIsMissingIsNone) {
  const ThreadService service(ServiceOptions());
  ASSERT_TRUE(Send(*Writer(service, 1, 1, 2), MakeShare({1, 3}, 1, 2, 1000)).ok());
  const auto source = Source({service.address()});
  EXPECT_THAT(source->Whole().value(), IsEmpty());
  const Status missing = source->ReadManifest({1, 3}).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("1 of 2 ranks"));
  EXPECT_EQ(source->ReadManifest({1, 4}).status().code(), StatusCode::kNotFound);
}

TEST_P(ReplicaTest, AWrongByteIsNoticedByWhoLoads) {
  const ThreadService service(ServiceOptions());
  Share share = MakeShare({1, 1}, 0, 1, kRows);
  share.image[share.image.size() - 1] ^= std::byte{1};
  ASSERT_TRUE(Send(*Writer(service, 1), share).ok());
  const auto source = Source({service.address()});
  const Status bad = LoadW(*source, {1, 1}).status();
  EXPECT_EQ(bad.code(), StatusCode::kDataLoss);
  EXPECT_THAT(bad.message(), HasSubstr("w"));
}

TEST_P(ReplicaTest, APartThatIsAnothersIsNotTrusted) {
  const ThreadService service(ServiceOptions());
  Share share = MakeShare({1, 1}, 0, 1, 1000);
  share.id.step = 2;
  ASSERT_TRUE(Send(*Writer(service, 1), share).ok());
  EXPECT_EQ(Source({service.address()})->ReadManifest({1, 2}).status().code(), StatusCode::kDataLoss);
}

TEST_P(ReplicaTest, BeyondTheBudgetIsAnErrorAndTheCopyBeforeStays) {
  const ThreadService service(ServiceOptions(8 * kMiB));
  const auto writer = Writer(service, 1);
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kRows)).ok());
  const Status refused = Send(*writer, MakeShare({1, 2}, 0, 1, kRows)).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "REPLICA_MEMORY");
  EXPECT_THAT(refused.message(), HasSubstr("of 8388608 bytes"));
  EXPECT_TRUE(LoadW(*Source({service.address()}), {1, 1}).value() == WholeTensor({1, 1}, 1, kRows));
}

TEST_P(ReplicaTest, AnOlderAttemptWritesNoMoreOnceALaterOneHasCome) {
  const ThreadService service(ServiceOptions());
  const auto zombie = Writer(service, 1);
  ASSERT_TRUE(Send(*zombie, MakeShare({1, 1}, 0, 1, kRows)).ok());
  // A later attempt only looks: that is enough.
  const auto source = Source({service.address()}, 2);
  const Status refused = Send(*zombie, MakeShare({1, 2}, 0, 1, kRows)).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), "STALE_ATTEMPT");
  EXPECT_TRUE(LoadW(*source, {1, 1}).value() == WholeTensor({1, 1}, 1, kRows));
}

TEST_P(ReplicaTest, AnotherJobsTokenOpensNothingOfThisOnes) {
  const ThreadService service(ServiceOptions());
  ASSERT_TRUE(Send(*Writer(service, 1), MakeShare({1, 1}, 0, 1, 1000)).ok());
  ReplicaOptions options = OptionsFor(GetParam(), 1, 0, 1);
  options.token = TokenFor(1, 18);
  const auto other = OpenReplicaSource({service.address()}, options);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_THAT((*other)->Whole().value(), IsEmpty());
  EXPECT_TRUE(DropReplicas(service.address(), options).ok()) << "its own";
  EXPECT_EQ(Source({service.address()})->Whole()->size(), 1U);
}

TEST_P(ReplicaTest, WhereTheSchedulersKeyIsAnotherNoTokenIsGood) {
  ReplicaServiceOptions service_options = ServiceOptions();
  service_options.issuers = [] {
    ReplicaIssuers issuers = Issuers();
    issuers.keys = {PublicKeyOf(MakeEd25519Seed())};
    return issuers;
  };
  const ThreadService service(service_options);
  const Status refused = Send(*Writer(service, 1), MakeShare({1, 2}, 0, 1, 1000)).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(refused.reason(), "BAD_TOKEN");
  const ReplicaOptions options = OptionsFor(GetParam(), 1, 0, 1);
  EXPECT_EQ(OpenReplicaSource({service.address()}, options).status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(DropReplicas(service.address(), options).code(), StatusCode::kUnauthenticated);
}

// Somebody who has taken the service's place, or stands in between.
TEST_P(ReplicaTest, AServiceWithAnotherKeyGetsNothing) {
  const ThreadService service(ServiceOptions());
  const std::string other = PeerText({PublicKeyOf(MakeEd25519Seed()), service.place()});
  const auto writer = MakeReplicaWriter(other, OptionsFor(GetParam(), 1, 0, 1)).value();
  EXPECT_EQ(Send(*writer, MakeShare({1, 1}, 0, 1, 1000)).status().code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(Source({service.address()})->Whole().value(), IsEmpty());
}

TEST_P(ReplicaTest, AStolenTokenOfAnOlderAttemptIsOfNoUse) {
  const ThreadService service(ServiceOptions());
  ASSERT_TRUE(Send(*Writer(service, 2), MakeShare({2, 1}, 0, 1, 1000)).ok());
  ReplicaOptions stolen = OptionsFor(GetParam(), 1, 0, 1);
  EXPECT_EQ(
      Send(*MakeReplicaWriter(service.address(), stolen).value(), MakeShare({1, 2}, 0, 1, 1000)).status().reason(),
      "STALE_ATTEMPT");
  stolen.attempt = 0;
  EXPECT_EQ(OpenReplicaSource({service.address()}, stolen).status().reason(), "STALE_ATTEMPT") << "not to read, either";
  EXPECT_EQ(DropReplicas(service.address(), stolen).reason(), "STALE_ATTEMPT");
  EXPECT_EQ(Source({service.address()})->Whole()->size(), 1U);
}

TEST_P(ReplicaTest, WhatIsBeingReadStaysAndTheSaveIsToldSo) {
  const ThreadService service(ServiceOptions());
  const auto writer = Writer(service, 1);
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kRows)).ok());
  auto source = Source({service.address()});
  ASSERT_TRUE(source->ReadManifest({1, 1}).ok());
  ASSERT_TRUE(Send(*writer, MakeShare({1, 2}, 0, 1, kRows)).ok());
  EXPECT_EQ(Send(*writer, MakeShare({1, 3}, 0, 1, kRows)).status().reason(), "REPLICA_BEING_READ");
  EXPECT_TRUE(LoadW(*source, {1, 1}).value() == WholeTensor({1, 1}, 1, kRows));
  source.reset();
  // The service hears of the end in its own time.
  Status saved;
  for (std::uint64_t step = 4; step < 1000; ++step) {
    saved = Send(*writer, MakeShare({1, step}, 0, 1, 1000)).status();
    if (saved.reason() != "REPLICA_BEING_READ") break;
  }
  EXPECT_TRUE(saved.ok()) << saved.message();
}

TEST_P(ReplicaTest, AJobThatIsOverLeavesNothing) {
  const ThreadService service(ServiceOptions(8 * kMiB));
  ASSERT_TRUE(Send(*Writer(service, 1), MakeShare({1, 1}, 0, 1, kRows)).ok());
  ASSERT_TRUE(DropReplicas(service.address(), OptionsFor(GetParam(), 0, 0, 1)).ok());
  EXPECT_THAT(Source({service.address()})->Whole().value(), IsEmpty());
  EXPECT_TRUE(Send(*Writer(service, 1), MakeShare({1, 2}, 0, 1, kRows)).ok()) << "its memory is free again";
}

TEST_P(ReplicaTest, RangesOutsideAShardAreRefused) {
  const ThreadService service(ServiceOptions());
  const Share share = MakeShare({1, 1}, 0, 1, 1000);
  ASSERT_TRUE(Send(*Writer(service, 1), share).ok());
  const auto source = Source({service.address()});
  const Manifest manifest = source->ReadManifest({1, 1}).value();
  std::vector<std::byte> into(100);
  const auto read = [&](std::uint32_t file, std::uint64_t offset) {
    const ReadRange range{file, offset, into};
    return source->Read({1, 1}, manifest, {&range, 1}, [](std::size_t) { return Status::Ok(); }).status().code();
  };
  EXPECT_EQ(read(0, 0), StatusCode::kOk);
  EXPECT_EQ(read(0, share.image.size() - 99), StatusCode::kDataLoss);
  EXPECT_EQ(read(0, ~std::uint64_t{0} - 10), StatusCode::kDataLoss);
  EXPECT_EQ(read(1, 0), StatusCode::kInvalidArgument);
}

TEST_P(ReplicaTest, WhatDoneSaysEndsTheRead) {
  const ThreadService service(ServiceOptions());
  ASSERT_TRUE(Send(*Writer(service, 1), MakeShare({1, 1}, 0, 1, kRows)).ok());
  const auto source = Source({service.address()});
  const Manifest manifest = source->ReadManifest({1, 1}).value();
  std::vector<std::byte> into(kMiB);
  const std::vector<ReadRange> ranges(4, ReadRange{0, 4096, into});
  int told = 0;
  const auto read = source->Read({1, 1}, manifest, ranges, [&](std::size_t) {
    ++told;
    return Status(StatusCode::kDataLoss, "enough");
  });
  EXPECT_EQ(read.status().message(), "enough");
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(LoadW(*source, {1, 1}).ok()) << "the source is of use still";
}

INSTANTIATE_TEST_SUITE_P(Wires, ReplicaTest, ::testing::ValuesIn(testing::Wires()),
                         [](const auto& param) { return std::string(param.param); });

TEST(ReplicaOptionsTest, WhatIsWrongIsNamed) {
  const auto field = [](const std::string& peer, auto change) {
    ReplicaOptions options = OptionsFor("tcp", 1, 0, 1);
    change(options);
    const auto writer = MakeReplicaWriter(peer, options);
    EXPECT_EQ(writer.status().code(), StatusCode::kInvalidArgument);
    return writer.status().field();
  };
  const std::string key(64, 'a');
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.token = ""; }), "token");
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.token += "00"; }), "token");
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.attempt = 2; }), "attempt") << "another one's token";
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.attempt = 0; }), "attempt") << "a writer is of one";
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.rank = 1; }), "rank");
  EXPECT_EQ(field(key + "@127.0.0.1:1", [](ReplicaOptions& o) { o.depth = 0; }), "depth");
  field(key + "@127.0.0.1", [](ReplicaOptions&) {});
  EXPECT_EQ(field("127.0.0.1:1", [](ReplicaOptions&) {}), "peer") << "nobody would know who answers";
}

TEST(ReplicaOptionsTest, AServiceSaysWhatItCannotStartWith) {
  ReplicaServiceOptions options;
  options.memory_bytes = kMiB;
  EXPECT_EQ(ReplicaService::Create(options, {}).status().field(), "keys");
  options.issuers = [] { return Issuers(); };
  options.memory_bytes = 0;
  EXPECT_EQ(ReplicaService::Create(options, {}).status().field(), "memory");
  options.memory_bytes = kMiB;
  options.listen = "nowhere";
  EXPECT_EQ(ReplicaService::Create(options, {}).status().code(), StatusCode::kInvalidArgument);
  options.listen = "127.0.0.1:0";
  options.ucx_tls = "no_such_transport";
  EXPECT_EQ(ReplicaService::Create(options, {}).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace glim::checkpoint
