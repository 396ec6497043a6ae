// Mounts that became read-only, room, and writes that take long.
#include "nodeagent/health/disk_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWritable =
    "proc /proc proc rw,nosuid 0 0\n/dev/sda2 / ext4 rw,relatime 0 0\n/dev/sdb1 /usr ext4 ro,nodev 0 0\n"
    "/dev/sda2 /view ext4 ro 0 0\n";
constexpr const char* kBroken =
    "proc /proc proc ro 0 0\n/dev/sda2 / ext4 ro,relatime 0 0\n/dev/sdb1 /usr ext4 ro,nodev 0 0\n";

TEST(MountRules, WhatWasWritableAndIsNoMore) {
  Memory memory;
  EXPECT_THAT(LookAtMounts(kWritable, memory).conditions, IsEmpty()) << "what was never writable is not broken";
  const Looks looks = LookAtMounts(kBroken, memory);
  ASSERT_THAT(looks.conditions, SizeIs(1));
  EXPECT_EQ(looks.conditions[0].check, "disk_read_only");
  EXPECT_EQ(looks.conditions[0].device, "sda2");
  EXPECT_EQ(looks.conditions[0].text, "/ was writable, and is read-only now");
  EXPECT_THAT(LookAtMounts(kWritable, memory).conditions, IsEmpty());
  EXPECT_THAT(LookAtMounts("/dev/\n/dev/x\n\n/dev/a b c", memory).conditions, IsEmpty());
}

// Containers and systemd's sandboxes bind files of a disk, and make such a mount read-only.
TEST(MountRules, OneReadOnlyMountOfAWritableDiskIsNoFault) {
  Memory memory;
  LookAtMounts("/dev/vda / ext4 rw 0 0\n/dev/vda /run/host/os-release ext4 rw 0 0\n", memory);
  const Looks looks = LookAtMounts("/dev/vda / ext4 rw 0 0\n/dev/vda /run/host/os-release ext4 ro 0 0\n", memory);
  EXPECT_THAT(looks.conditions, IsEmpty());
  EXPECT_THAT(LookAtMounts("/dev/vda / ext4 ro 0 0\n/dev/vda /run/host/os-release ext4 ro 0 0\n", memory).conditions,
              SizeIs(2));
}

TEST(RoomRules, LessThanTwoPercent) {
  EXPECT_THAT(LookAtRoom("/s", 2 << 20, 100 << 20).conditions, IsEmpty());
  const Looks looks = LookAtRoom("/s", (2 << 20) - 4096, 100 << 20);
  ASSERT_THAT(looks.conditions, SizeIs(1));
  EXPECT_EQ(looks.conditions[0].check, "disk_full_soon");
  EXPECT_EQ(looks.conditions[0].unit, "MiB");
  EXPECT_THAT(LookAtRoom("/s", 0, 0).conditions, IsEmpty());
}

TEST(WriteTimes, ASlowWriteIsOneThatThisDiskDoesNotMakeOtherwise) {
  WriteTimes times;
  times.Add(5000);
  EXPECT_FALSE(times.slow());
  times.Add(5001);
  EXPECT_TRUE(times.slow());
  ASSERT_THAT(times.Conditions("/s").conditions, SizeIs(1));
  EXPECT_EQ(times.Conditions("/s").conditions[0].value, 5001);
  times.Add(900);
  EXPECT_FALSE(times.slow()) << "nobody knows yet how fast this disk is";
  for (int i = 0; i < 30; ++i) times.Add(30);
  times.Add(600);
  EXPECT_FALSE(times.slow());
  times.Add(601);
  EXPECT_TRUE(times.slow());
  times.Add(30);
  EXPECT_FALSE(times.slow());
  for (std::size_t i = 0; i < 2 * kWritesOfADay; ++i) times.Add(1);
  times.Add(kWriteMsUnremarked);
  EXPECT_FALSE(times.slow()) << "a very fast disk may be merely fast";
  times.Add(kWriteMsUnremarked + 1);
  EXPECT_TRUE(times.slow());
}

}  // namespace
}  // namespace glim::nodeagent::health
