// Bugs, each a line at the place where somebody could make it, that the simulator must find within 1,000 seeds
// (scheduler/sim/world/planted_test.cc). Planted() is constantly false in every build but that test's own library,
// which alone is compiled with GLIM_PLANTED_BUGS: the compiler leaves nothing of them in a program that is shipped.
#pragma once

#include <cstdint>

#include "scheduler/core/model/planted.h"

namespace glim::core {

enum class PlantedBug : std::uint8_t {
  kNone,
  kLostRelease,            // a node that somebody claims is not given on when its agent says that it is empty
  kDoubleClaim,            // a displaced attempt keeps its claims beside those of the one that displaced it
  kStaleEpoch,             // the store takes a commit of a leader whose time is over
  kHalfGang,               // an attempt starts when it holds all its nodes but one
  kInterruptedTwice,       // a second agreement is opened beside an open one
  kDroppedSubmission,      // a job that only waits is not stored
  kNoBlocker,              // a job that may cross between zones is not told what is busy
  kLedgerLeak,             // GPU-time of stopping is booked for the node and not for the job
  kMovedStop,              // S moves on with the ranks' progress after it was committed
  kBorrowedKeepsItsClass,  // what is beyond a quota counts as the class that was asked for
  kStaleCheckpoint,        // the save of a written-off task becomes its job's newest
  kStarvedCutOff,          // a pass looks at one starved shape and leaves the others to their usual turn
  kLinkFreeTooEarly,       // who has all its nodes begins, though another still crosses its link
  kLostMeansReleased,      // the node of a lost task is given on while its ranks may live
  kJobNumberTwice,         // after a reload the newest job's number is given once more
  kRefusedMeansLost,       // what runs on a node whose agent was refused is written off
  kClaimOutlivesPool,      // a claim is kept when its node has moved to another pool
  kGraceWithoutCap,        // a grace is the job's, whatever its class may have
  kOwnFaultTriedAgain,     // a start that failed by the job's own fault is tried again like any other
  kCordonForgotten,        // a cordoned node is given to jobs like any other
  kReservationForgotten,   // a reserved node is given to any team's jobs
  kHealthEventTwice,       // a health event that was taken in acts again when it is told again
  kProbeWithoutControl,    // who reaches nobody has a say in whether a node can be reached
  kCutFailsJob,            // ranks that lost contact with each other have failed by themselves
  kTimeAwayCounts,         // a grace goes on while a node does not hear of it
  kKnockIsAWord,           // an agent that is refused was told of what was ordered meanwhile
  kStopBeginsAgain,        // a stop has all of its time again whenever an agent comes back
  kWithdrawnTooLate,       // an interrupt is withdrawn though a rank has left for it
  kHangBeforeRestore,      // who has not said that it got its save is never looked at
  kSilenceIsHang,          // who is not heard stands still
  kYieldStorm,             // who reported a step has done something
  kDamagedSaveIsFree,      // who went on from an earlier step than its save has lost nothing
  kStepBegunIsLost,        // the step that was begun counts as lost
  kClaimIsReceipt,         // what an agent says that it runs, it was given
  kClaimTakenBack,         // who waits for a node before a reservation must leave it at once, and is given it again
  kPlanLooksOnce,          // a plan is one pass, and a decision is several
  kUnheardProbe,           // who was asked and has said nothing counts as one that does not reach the node
  kShardMissing,           // a save of which one shard was not written is whole
  kPartIsWhole,            // who has a part of a save has all of it
  kQuantumWithoutEnd,      // a job is left alone by its own class for a day
  kPlaceForgotten,         // whose place is kept no longer calls for no pass
  kBudgetForgotten,        // a team that has used up its budget goes on starting jobs
};

#ifdef GLIM_PLANTED_BUGS
inline PlantedBug planted_bug = PlantedBug::kNone;  // set by the test; one thread
inline bool Planted(PlantedBug bug) { return planted_bug == bug; }
#else
constexpr bool Planted(PlantedBug) { return false; }
#endif

}  // namespace glim::core
