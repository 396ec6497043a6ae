#include "scheduler/core/check/reservation_check.h"

#include <algorithm>
#include <set>

namespace glim::core {
namespace {

class ReservationChecker {
 public:
  ReservationChecker(const ClusterState& state, TimePoint now) : state_(state), now_(now) {}

  std::vector<std::string> Run() {
    state_.tables().reservations.ForEach([&](const std::string&, const Reservation& row) { CheckRow(row); });
    return std::move(violations_);
  }

 private:
  void Expect(bool holds, const std::string& who, const char* what) {
    if (!holds) violations_.push_back(who + what);
  }

  void CheckRow(const Reservation& row) {
    const std::string who = "reservation " + row.name;
    Expect(row.begun_at || row.begins_at > now_, who, " is due, and not in force");
    Expect(row.ends_at > now_, who, " is over, and still there");
    if (!row.begun_at) return;
    for (const ReservedNode& reserved : row.nodes) {
      const Node* node = state_.FindNode(reserved.id);
      if (node) CheckNode(row, reserved, *node);
    }
  }

  void CheckNode(const Reservation& row, const ReservedNode& reserved, const Node& node) {
    const std::string who = "node " + node.name;
    Expect(taken_.insert(node.id).second, who, " is two reservations' at once");
    for (const AttemptId id : {node.holder, node.claim}) {
      const Attempt* attempt = state_.FindAttempt(id);
      if (!attempt || attempt->state == AttemptState::kEnded || IsOf(row, state_.FindJob(id.job)->team)) continue;
      const TimePoint since = std::max(reserved.since, row.begun_at);
      Expect(attempt->claimed_at <= since, who, ": an attempt of others began on a reserved node");
      const bool waits = attempt->state == AttemptState::kClaimed;
      Expect(!waits, who, ": somebody else waits for a reserved node");
      const bool leaves = attempt->stop != StopCause::kNone || attempt->open_agreement();
      Expect(waits || leaves || state_.dirty, who, " is reserved for others, and who is there stays");
    }
  }

  const ClusterState& state_;
  const TimePoint now_;
  std::set<NodeId> taken_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> CheckReservations(const ClusterState& state, TimePoint now) {
  return ReservationChecker(state, now).Run();
}

}  // namespace glim::core
