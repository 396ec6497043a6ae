#include "scheduler/server/listen/refused_handshakes.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

TEST(HandshakeWatch, TellsTheFirstAtOnceAndTheRestAMinuteLater) {
  constexpr TimePoint kNow{1'000'000};
  HandshakeWatch watch({7, 7});
  EXPECT_EQ(watch.Tell({7, 7}, kNow), std::nullopt) << "these were others'";
  EXPECT_EQ(watch.Tell({8, 7}, kNow), "1 without a certificate");
  EXPECT_EQ(watch.Tell({12, 9}, kNow + Seconds(59)), std::nullopt);
  EXPECT_EQ(watch.Tell({12, 9}, kNow + Seconds(60)), "4 without a certificate, 2 with one that does not count");
  EXPECT_EQ(watch.Tell({12, 9}, kNow + Hours(1)), std::nullopt) << "nobody came";
  EXPECT_EQ(watch.Tell({12, 10}, kNow + Hours(1)), "1 with one that does not count");
}

}  // namespace
}  // namespace glim::server
