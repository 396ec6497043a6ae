// The rows of an attempt's agreements on the step to stop at (docs/protocols/interrupt.md). Plain values;
// agreement_machine.h draws how they move.
//
// Sources: names.cc (the words)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::core {

enum class AgreementState : std::uint8_t { kNotifying, kAgreed, kNoAgreement, kSignalled, kWithdrawn, kEnded };
const char* ToString(AgreementState state);

struct Agreement {
  std::uint32_t id = 0;  // from 1 within an attempt
  AgreementState state = AgreementState::kNotifying;
  AttemptId preemptor;  // none for a drain or a suspend
  std::string preemptor_name;
  std::string preemptor_user;
  std::string reason;       // in words
  bool suspend = false;     // the user asked for it: the job is held afterwards
  bool time_limit = false;  // the job is at its limit: it is over afterwards
  bool moved = false;       // it is to go on elsewhere: a place is kept for it, and it comes first in its class
  TimePoint requested_at, agree_by;
  TimePoint deadline;     // moves with granted extensions
  TimePoint notified_at;  // the last rank's acknowledgement
  TimePoint agreed_at;
  TimePoint saved_at;     // durable, since the request
  TimePoint left_at;      // the last rank's `leaving` or exit
  TimePoint released_at;  // the last node
  std::int64_t stop_step = -1;
  bool swap_aborted = false;
  bool by_operator = false;  // a drain or a move: it leaves whatever becomes of its preemptor
  bool elsewhere = false;    // with `moved`: its nodes are left out while others fit
  Duration grace;            // given at the request, or by an extension since; the deadline may be later (outages)
  friend bool operator==(const Agreement&, const Agreement&) = default;
};

// Bounded: a user who submits and cancels urgent jobs again and again would add agreements without end.
inline constexpr std::size_t kAgreementsKept = 8;

}  // namespace glim::core
