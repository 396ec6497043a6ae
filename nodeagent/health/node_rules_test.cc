// Memory modules, PCIe links, processors.
#include "nodeagent/health/node_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(ModuleRules, ErrorsOfAModule) {
  Memory memory;
  EXPECT_THAT(LookAtModule({"mc0/dimm0", "A1", 5, 1}, 0, memory).events, IsEmpty()) << "of before";
  const Looks uncorrected = LookAtModule({"mc0/dimm0", "A1", 5, 2}, 2000, memory);
  ASSERT_THAT(uncorrected.events, SizeIs(1));
  EXPECT_EQ(uncorrected.events[0].check, "memory_ecc_uncorrected");
  EXPECT_EQ(uncorrected.events[0].text, "1 uncorrected errors of memory in A1");
  const Looks corrected = LookAtModule({"mc0/dimm0", "A1", 7, 2}, 4000, memory);
  ASSERT_THAT(corrected.events, SizeIs(1));
  EXPECT_EQ(corrected.events[0].check, "memory_ecc_corrected");
  EXPECT_EQ(corrected.events[0].value, 2);
  EXPECT_THAT(LookAtModule({"mc0/dimm0", "A1", 9, 2}, 6000, memory).events, IsEmpty()) << "summed";
  const Looks later = LookAtModule({"mc0/dimm0", "A1", 10, 2}, 4000 + kCorrectedPauseMs, memory);
  ASSERT_THAT(later.events, SizeIs(1));
  EXPECT_EQ(later.events[0].value, 3);
}

struct CardCase {
  const char* what;
  CardReading card;
  bool slow;
};

TEST(CardRules, ALinkBelowWhatCardAndSlotCan) {
  const CardCase cases[] = {
      {"as fast as it can", {"a", false, {16000, 16}, {16000, 16}, {16000, 16}}, false},
      {"too few lanes", {"a", false, {16000, 8}, {16000, 16}, {16000, 16}}, true},
      {"a GPU with too few lanes", {"a", true, {2500, 8}, {16000, 16}, {16000, 16}}, true},
      {"too slow", {"a", false, {8000, 16}, {16000, 16}, {16000, 16}}, true},
      {"a GPU that has nothing to do", {"a", true, {2500, 16}, {16000, 16}, {16000, 16}}, false},
      {"an older slot", {"a", false, {8000, 8}, {16000, 16}, {8000, 8}}, false},
      {"a slot that says nothing", {"a", false, {8000, 16}, {16000, 16}, {}}, true},
      {"a card that says nothing", {"a", false, {}, {}, {16000, 16}}, false},
  };
  for (const CardCase& c : cases) {
    Memory memory;
    EXPECT_THAT(LookAtCard(c.card, memory).conditions, IsEmpty()) << c.what << ": one look is not enough";
    EXPECT_EQ(LookAtCard(c.card, memory).conditions.size(), c.slow ? 1u : 0u) << c.what;
  }
}

TEST(CardRules, SpeedsAsTheKernelWritesThem) {
  EXPECT_EQ(PcieSpeedOf("16.0 GT/s PCIe"), 16'000);
  EXPECT_EQ(PcieSpeedOf("2.5 GT/s PCIe"), 2'500);
  EXPECT_EQ(PcieSpeedOf("8 GT/s"), 8'000);
  for (const char* none : {"", "Unknown", "16", "x GT/s"}) EXPECT_EQ(PcieSpeedOf(none), 0) << none;
}

TEST(PackageRules, AProcessorThatIsSlowedDownAgainAndAgain) {
  Memory memory;
  EXPECT_THAT(LookAtPackage({"package0", 5000}, memory).conditions, IsEmpty()) << "of before";
  EXPECT_THAT(LookAtPackage({"package0", 5060}, memory).conditions, IsEmpty());
  const Looks looks = LookAtPackage({"package0", 5200}, memory);
  ASSERT_THAT(looks.conditions, SizeIs(1));
  EXPECT_EQ(looks.conditions[0].check, "cpu_throttled");
  EXPECT_EQ(looks.conditions[0].value, 140);
  EXPECT_THAT(LookAtPackage({"package0", 5201}, memory).conditions, IsEmpty());
}

}  // namespace
}  // namespace glim::nodeagent::health
