// DenialRate: how many denied calls are told to the audit trail: one a second for each peer and user, ten at once. What
// is left out is counted, and the next one that is told says how many there were.
//
// Thread-safe. Memory: a few thousand rows, whatever callers make up; those beyond share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "sdk/base/time.h"

namespace glim::server {

class DenialRate {
 public:
  static constexpr std::int64_t kBurst = 10;
  static constexpr std::size_t kRowsMax = 4'096;

  // Whether this one is told, and then how many before it were not.
  std::optional<std::uint64_t> Tell(const std::string& peer, const std::string& user, TimePoint now);

  std::size_t rows() const;  // for tests

 private:
  struct Row {
    std::int64_t tokens_milli = kBurst * 1'000;
    TimePoint filled_at;
    std::uint64_t left_out = 0;
  };
  static void Fill(Row* row, TimePoint now);
  void ForgetIdle(TimePoint now);

  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Row> rows_;
  Row others_;
  std::optional<TimePoint> forgot_at_;  // when room was last looked for
};

}  // namespace glim::server
