#include "sdk/checkpoint/format/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "sdk/base/rng.h"

namespace glim::checkpoint {
namespace {

std::uint32_t Of(const std::string& text) { return Crc32c(std::as_bytes(std::span(text))); }

// Bit by bit, from the definition: the reversed polynomial 0x82F63B78, inverted before and after.
std::uint32_t Slowly(std::span<const std::byte> data) {
  std::uint32_t sum = ~std::uint32_t{0};
  for (const std::byte byte : data) {
    sum ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82F63B78U : 0);
  }
  return ~sum;
}

TEST(Crc32c, HasTheValuesOfTheStandard) {  // RFC 3720, appendix B.4
  std::string up(32, '\0');
  std::iota(up.begin(), up.end(), '\0');
  EXPECT_EQ(Of(""), 0u);
  EXPECT_EQ(Of("123456789"), 0xE3069283u);
  EXPECT_EQ(Of(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Of(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(Of(up), 0x46DD794Eu);
  EXPECT_EQ(Of({up.rbegin(), up.rend()}), 0x113FDB5Cu);
}

TEST(Crc32c, IsThatOfTheWholeHoweverItIsCut) {
  Rng rng(1);
  std::vector<std::byte> data(5000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(rng.Next());
  for (int i = 0; i < 200; ++i) {
    const auto first = static_cast<std::size_t>(rng.Between(0, 100));
    const auto length = static_cast<std::size_t>(rng.Between(0, 4900));
    const std::span<const std::byte> part = std::span(data).subspan(first, length);
    const auto cut = static_cast<std::size_t>(rng.Between(0, static_cast<std::int64_t>(length)));
    EXPECT_EQ(Crc32c(part), Slowly(part));
    EXPECT_EQ(Crc32c(part.subspan(cut), Crc32c(part.first(cut))), Slowly(part));
  }
}

}  // namespace
}  // namespace glim::checkpoint
