// What is left when a writer, a service or a stranger fails at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sdk/base/check.h"
#include "sdk/base/rng.h"
#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/replica/replica_client.h"
#include "sdk/checkpoint/replica/testing/replica.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of this folder
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kTornRows = 3 * kMiB + 77;

Status LoadAndCompare(ReplicaSource& source, CheckpointId id) {
  Result<std::unique_ptr<Checkpoint>> checkpoint = OpenCheckpoint(source, id);
  if (!checkpoint.ok()) return checkpoint.status();
  std::vector<std::byte> data(kTornRows);
  const LoadRange range{"w", 0, data};
  const Result<IoReport> report = (*checkpoint)->Load({&range, 1});
  if (!report.ok()) return report.status();
  return data == WholeTensor(id, 1, kTornRows) ? Status::Ok() : Status(StatusCode::kInternal, "other bytes than saved");
}

// In a child: a save whole, then the first `bytes` of the next one, then waits to be killed.
[[noreturn]] void TearASave(const std::string& tls, const std::string& peer, std::uint64_t bytes, int tell) {
  {
    auto writer = MakeReplicaWriter(peer, OptionsFor(tls, 1, 0, 1)).value();
    GLIM_CHECK(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).ok(), "the save before");
  }
  const ReplicaOptions options = OptionsFor(tls, 1, 0, 1);
  auto worker = OpenWorkerFor(net::ParseAddress(ParsePeer(peer)->address).value(), options).value();
  auto client = ReplicaClient::Connect(ParsePeer(peer).value(), worker, options).value();
  const Share share = MakeShare({1, 2}, 0, 1, kTornRows);
  const Grant grant = client->Ask<Grant>(Reserve{{1, 2, 0}, {1, share.image.size(), share.part_json.size()}}).value();
  const ucp_rkey_h key = client->Unpack(grant.key).value();
  GLIM_CHECK(client->Put(std::span(share.image).first(bytes), grant.address, key).ok(), "put");
  // Half of the cases are killed with puts on their way.
  if (bytes % 2 == 0) GLIM_CHECK(client->Flush().ok(), "flush");
  GLIM_CHECK(::write(tell, "x", 1) == 1, "tell");
  for (;;) ::pause();
}

struct FailureTest : ::testing::TestWithParam<const char*> {
  std::unique_ptr<ReplicaSource> Source(const std::string& peer, std::uint32_t attempt = 0) const {
    auto source = OpenReplicaSource({peer}, OptionsFor(GetParam(), attempt, 0, 1));
    GLIM_CHECK(source.ok(), source.status().message());
    return std::move(source).value();
  }
};

TEST_P(FailureTest, AWriterThatIsKilledInAPutLeavesTheCopyBefore) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ProcessService service(GetParam(), "32MiB");
    Rng rng(seed);
    const std::uint64_t bytes = rng.Next() % kTornRows;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      TearASave(GetParam(), service.address(), bytes, ends[1]);
    }
    ::close(ends[1]);
    char told = 0;
    ASSERT_EQ(::read(ends[0], &told, 1), 1) << "the child has failed";
    ::close(ends[0]);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    auto source = Source(service.address());
    EXPECT_THAT(source->Whole().value(), ElementsAre(CheckpointId{1, 1}));
    const Status loaded = LoadAndCompare(*source, {1, 1});
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    // And the job goes on elsewhere, as another attempt.
    const auto next = MakeReplicaWriter(service.address(), OptionsFor(GetParam(), 2, 0, 1)).value();
    const auto sent = Send(*next, MakeShare({2, 2}, 0, 1, kTornRows));
    EXPECT_TRUE(sent.ok()) << sent.status().message();
    EXPECT_TRUE(LoadAndCompare(*Source(service.address()), {2, 2}).ok());
  }
}

TEST_P(FailureTest, AServiceThatIsKilledFailsTheSaveAndTheNextFindsItsSuccessorEmpty) {
  auto service = std::make_unique<ProcessService>(GetParam(), "32MiB");
  const std::string address = service->address();
  const auto writer = MakeReplicaWriter(address, OptionsFor(GetParam(), 1, 0, 1)).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).ok());
  service->End(SIGKILL);
  const Status failed = Send(*writer, MakeShare({1, 2}, 0, 1, kTornRows)).status();
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.message(), HasSubstr(ParsePeer(address)->address));
  service = std::make_unique<ProcessService>(GetParam(), "32MiB", address);
  EXPECT_THAT(Source(address)->Whole().value(), IsEmpty());
  const auto sent = Send(*writer, MakeShare({1, 3}, 0, 1, kTornRows));
  EXPECT_TRUE(sent.ok()) << sent.status().message();
  EXPECT_THAT(Source(address)->Whole().value(), ElementsAre(CheckpointId{1, 3}));
}

TEST_P(FailureTest, AServiceThatIsRestartedBetweenTwoSavesCostsNone) {
  auto service = std::make_unique<ProcessService>(GetParam(), "32MiB");
  const std::string address = service->address();
  const auto writer = MakeReplicaWriter(address, OptionsFor(GetParam(), 1, 0, 1)).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).ok());
  EXPECT_EQ(service->End(SIGTERM), 0) << "it leaves in order";
  service = std::make_unique<ProcessService>(GetParam(), "32MiB", address);
  const auto sent = Send(*writer, MakeShare({1, 2}, 0, 1, kTornRows));
  EXPECT_TRUE(sent.ok()) << sent.status().message();
}

TEST_P(FailureTest, AServiceThatHangsFailsTheSaveInTime) {
  ProcessService service(GetParam(), "64MiB");
  ReplicaOptions options = OptionsFor(GetParam(), 1, 0, 1);
  options.timeout = Milliseconds(200);
  const auto writer = MakeReplicaWriter(service.address(), options).value();
  ASSERT_EQ(::kill(service.pid(), SIGSTOP), 0);
  EXPECT_EQ(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).status().code(), StatusCode::kUnavailable);
  ASSERT_EQ(::kill(service.pid(), SIGCONT), 0);
  const auto patient = MakeReplicaWriter(service.address(), OptionsFor(GetParam(), 1, 0, 1)).value();
  const auto sent = Send(*patient, MakeShare({1, 2}, 0, 1, kTornRows));
  EXPECT_TRUE(sent.ok()) << sent.status().message();
}

TEST_P(FailureTest, AServiceThatWasNotReachedIsLeftAloneForThePause) {
  auto service = std::make_unique<ProcessService>(GetParam(), "32MiB");
  const std::string address = service->address();
  service->End(SIGKILL);
  ReplicaOptions options = OptionsFor(GetParam(), 1, 0, 1);
  options.pause = Hours(1);
  const auto writer = MakeReplicaWriter(address, options).value();
  EXPECT_EQ(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).status().code(), StatusCode::kUnavailable);
  service = std::make_unique<ProcessService>(GetParam(), "32MiB", address);
  EXPECT_EQ(Send(*writer, MakeShare({1, 2}, 0, 1, kTornRows)).status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Source(address)->Whole().value(), IsEmpty());
}

TEST_P(FailureTest, ARefusalCausesNoPause) {
  const ProcessService service(GetParam(), "32MiB");
  ReplicaOptions options = OptionsFor(GetParam(), 1, 0, 1);
  options.pause = Hours(1);
  const auto writer = MakeReplicaWriter(service.address(), options).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kTornRows)).ok());
  ASSERT_TRUE(Send(*writer, MakeShare({1, 2}, 0, 1, kTornRows)).ok());
  {
    auto source = Source(service.address());
    ASSERT_TRUE(source->ReadManifest({1, 1}).ok());
    const Status refused = Send(*writer, MakeShare({1, 3}, 0, 1, kTornRows)).status();
    EXPECT_EQ(refused.reason(), "REPLICA_BEING_READ") << refused.message();
  }
  // The service may still be ending the reader's connection.
  Status sent;
  for (std::uint64_t step = 4; step < 104; ++step) {
    sent = Send(*writer, MakeShare({1, step}, 0, 1, kTornRows)).status();
    if (sent.reason() != "REPLICA_BEING_READ") break;
  }
  EXPECT_TRUE(sent.ok()) << sent.message();
}

TEST_P(FailureTest, AServiceThatDiesUnderAReaderIsAnError) {
  ProcessService service(GetParam(), "32MiB");
  ASSERT_TRUE(Send(*MakeReplicaWriter(service.address(), OptionsFor(GetParam(), 1, 0, 1)).value(),
                   MakeShare({1, 1}, 0, 1, kTornRows))
                  .ok());
  auto source = Source(service.address());
  const Manifest manifest = source->ReadManifest({1, 1}).value();
  service.End(SIGKILL);
  if (std::string(GetParam()) == "tcp") {
    std::vector<std::byte> into(kMiB);
    const ReadRange range{0, 4096, into};
    const auto read = source->Read({1, 1}, manifest, {&range, 1}, [](std::size_t) { return Status::Ok(); });
    EXPECT_EQ(read.status().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(source->ReadManifest({1, 1}).status().code(), StatusCode::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(Wires, FailureTest, ::testing::ValuesIn(testing::Wires()),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace glim::checkpoint
