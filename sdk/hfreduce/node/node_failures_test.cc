// What the processes of a node say when one of them dies, leaves, stalls or asks for something else.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <vector>

#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/node/node_reduce.h"
#include "sdk/hfreduce/node/testing/forked.h"

namespace glim::hfreduce {
namespace {

using testing::Forked;
using testing::SegmentFilesOf;
using testing::TestOptions;

struct Member {
  std::unique_ptr<Segment> segment;
  std::unique_ptr<NodeReduce> node;
};

Member Join(std::uint32_t ranks, std::uint32_t rank, const std::string& test, Duration timeout = LongWaitDuration()) {
  SegmentOptions options = TestOptions(ranks, rank, test);
  options.first_rank = 8;
  Member member{std::move(Segment::Open(options).value()), nullptr};
  const NodeReduceOptions small{.chunk_bytes_max = 16 << 10, .each_bytes_max = 1 << 10, .timeout = timeout};
  member.node = std::move(NodeReduce::Create(*member.segment, small).value());
  return member;
}

Status Sum(Member& member, std::vector<float>& values) {
  return member.node->AllReduce(std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(values)),
                                DType::kF32, ReduceOp::kSum);
}

TEST(NodeFailures, DifferentSizesAreNamed) {
  Forked processes(4, [](std::uint32_t rank) {
    Member member = Join(4, rank, "sizes");
    std::vector<float> values(rank == 3 ? 1024 : 2048);
    return Sum(member, values).message();
  });
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(processes.Wait(rank),
              "rank 11 called AllReduce of 1024 fp32 (sum), rank 8 AllReduce of 2048 fp32 (sum) "
              "(operation 1)");
  }
}

TEST(NodeFailures, DifferentOrdersTypesAndRootsAreNamed) {
  struct Mistake {
    const char* said;
    std::function<Status(Member&, std::span<std::byte>)> call;
  };
  const Mistake mistakes[] = {
      {"rank 9 called Barrier, rank 8 Broadcast of 64 bytes from rank 0",
       [](Member& m, std::span<std::byte>) { return m.node->Barrier(); }},
      {"rank 9 called Broadcast of 64 bytes from rank 1, rank 8 Broadcast of 64 bytes from rank 0",
       [](Member& m, std::span<std::byte> b) { return m.node->Broadcast(b, 1); }},
      {"rank 9 called Reduce of 32 bf16 (max) to rank 0, rank 8 Broadcast of 64 bytes from rank 0",
       [](Member& m, std::span<std::byte> b) { return m.node->Reduce(b, b, DType::kBF16, ReduceOp::kMax, 0); }},
  };
  for (const Mistake& mistake : mistakes) {
    Forked processes(2, [&mistake](std::uint32_t rank) {
      Member member = Join(2, rank, "orders");
      std::vector<std::byte> buffer(64);
      if (Status first = member.node->Barrier(); !first.ok()) return first.message();
      const Status status = rank == 1 ? mistake.call(member, buffer) : member.node->Broadcast(buffer, 0);
      if (member.node->Barrier() != status) return std::string("it does not hold for later operations");
      return status.message();
    });
    for (std::uint32_t rank : {0u, 1u}) {
      EXPECT_EQ(processes.Wait(rank), std::string(mistake.said) + " (operation 2)");
    }
  }
}

// Without a chance to clean up, wherever it is then.
void DieIn(std::int64_t microseconds) {
  struct sigaction action {};
  action.sa_handler = [](int) { ::kill(::getpid(), SIGKILL); };
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

TEST(NodeFailures, AnyProcessMayBeKilledAtAnyMoment) {
  Rng rng(7);
  for (std::uint32_t ranks : {2u, 4u}) {
    for (std::uint32_t victim = 0; victim < ranks; ++victim) {
      for (int round = 0; round < 4; ++round) {
        const std::int64_t moment = rng.Between(1, 30'000);
        Forked processes(ranks, [ranks, victim, moment](std::uint32_t rank) {
          Member member = Join(ranks, rank, "killed");
          if (rank == victim) DieIn(moment);
          std::vector<float> values(100'000);
          for (;;) {
            if (Status status = Sum(member, values); !status.ok()) return status.message();
          }
        });
        const std::string name =
            "rank " + std::to_string(8 + victim) + " (process " + std::to_string(processes.pid(victim));
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          const std::string said = processes.Wait(rank);
          if (rank == victim) {
            EXPECT_EQ(said, "signal 9");
          } else {
            EXPECT_TRUE(said.starts_with(name + ") died during AllReduce of 100000 fp32 (sum)")) << said;
          }
        }
        EXPECT_TRUE(SegmentFilesOf("killed").empty());
      }
    }
  }
}

TEST(NodeFailures, WhoStopsIsAccusedAfterTheTimeout) {
  for (std::uint32_t victim = 0; victim < 3; ++victim) {
    Forked processes(3, [victim](std::uint32_t rank) {
      // The one that is stopped must not accuse the others when it goes on.
      Member member = Join(3, rank, "stopped", rank == victim ? LongWaitDuration() : Slower(Milliseconds(1500)));
      std::vector<float> values(100'000);
      for (int i = 0;; ++i) {
        if (rank == victim && i == 20) ::raise(SIGSTOP);
        if (Status status = Sum(member, values); !status.ok()) return status.message();
      }
    });
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(processes.Wait(rank),
                "rank " + std::to_string(8 + victim) + " has not called AllReduce of 100000 fp32 (sum) (operation 21)");
    }
    processes.Signal(victim, SIGCONT);
    EXPECT_NE(processes.Wait(victim), "") << "the failure holds for it too";
  }
}

TEST(NodeFailures, WhoLeavesInTheMiddleIsNamed) {
  Forked processes(3, [](std::uint32_t rank) {
    Member member = Join(3, rank, "left");
    std::vector<float> values(1000);
    if (Status status = Sum(member, values); !status.ok()) return status.message();
    if (rank == 1) return std::string();
    return Sum(member, values).message();
  });
  const std::string expected = "rank 9 has left during AllReduce of 1000 fp32 (sum) (operation 2)";
  EXPECT_EQ(processes.WaitAll(), "0: " + expected + "\n2: " + expected + "\n");
}

TEST(NodeFailures, AnAbortWakesEverybodyWithItsReason) {
  Forked processes(3, [](std::uint32_t rank) {
    Member member = Join(3, rank, "abort");
    std::vector<float> values(1000);
    if (rank == 2) {
      member.segment->Fail(Status(StatusCode::kAborted, "the user had enough"));
      return std::string();
    }
    const Status status = Sum(member, values);
    return status.code() == StatusCode::kAborted ? status.message() : "another code: " + status.message();
  });
  EXPECT_EQ(processes.WaitAll(), "0: the user had enough\n1: the user had enough\n");
}

}  // namespace
}  // namespace glim::hfreduce
