// What notifications count for whoever scrapes. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace glim::notify {

enum class TargetKind : std::uint8_t { kWebhook, kCommand, kNone };  // none: the policy has no such name
enum class Outcome : std::uint8_t { kDelivered, kRetried, kDropped, kSkipped };
inline constexpr std::array<const char*, 3> kTargetKindWords = {"webhook", "command", "none"};
inline constexpr std::array<const char*, 4> kOutcomeWords = {"delivered", "retried", "dropped", "skipped"};

struct Figures {
  std::array<std::array<std::atomic<std::uint64_t>, kOutcomeWords.size()>, kTargetKindWords.size()> total{};
  std::atomic<std::int64_t> waiting{0};
  // How long ago what the oldest that waits tells of happened; 0: none waits. Set before anything is scraped.
  std::function<std::int64_t()> oldest_ms = [] { return std::int64_t{0}; };

  void Count(TargetKind kind, Outcome outcome) {
    ++total.at(static_cast<std::size_t>(kind)).at(static_cast<std::size_t>(outcome));
  }
};

}  // namespace glim::notify
