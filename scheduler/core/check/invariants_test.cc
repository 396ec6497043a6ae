// CheckInvariants: a sound state passes, and every violation that is planted is found.
#include "scheduler/core/check/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Spec;
using testing::Zones;

const AttemptId kRunning{JobId(1), 1};
const AttemptId kClaimed{JobId(2), 1};

// Job 1 is being interrupted on nodes 1 and 2 for job 2, which also holds node 3; job 3 waits; node 4 is silent.
using enum PriorityClass;

struct Sound {
  Sound() : c(Zones{.nodes = 4}) {
    c.Silence(NodeId(4), true);
    c.Running(Spec(2));
    c.Submit(Spec(3, PriorityClass::kHigh), "bob");
    c.Submit(Spec(1), "eve");
  }
  void Edit(JobId id, const std::function<void(Job&)>& change) {
    Job row = c.job(id);
    change(row);
    c.state().Put(row);
  }
  void Edit(AttemptId id, const std::function<void(Attempt&)>& change) {
    Attempt row = *c.state().FindAttempt(id);
    change(row);
    c.state().Put(row);
  }
  void Edit(NodeId id, const std::function<void(Node&)>& change) {
    Node row = c.node(id);
    change(row);
    c.state().Put(row);
  }
  void Cordon(NodeId id, TimePoint since, bool drain = false, bool drained = false) {
    glim::core::Cordon cordon;
    cordon.since = since;
    cordon.drain = drain;
    cordon.drained = drained;
    Edit(id, [&](Node& n) { n.cordon = cordon; });
  }
  // In force since then; with a node that is its own since then.
  void Reserve(const std::string& name, NodeId node, TimePoint since, TimePoint ends = TimePoint{Hours(99).ms}) {
    Reservation row;
    row.name = name;
    row.begins_at = row.begun_at = since;
    row.ends_at = ends;
    row.nodes = {{node, since}};
    c.state().dirty = false;
    c.state().Put(row);
  }
  TimePoint Now() const { return c.now(); }
  void Give(const QuotaGroup& group, PriorityClass priority, std::uint32_t nodes) {
    Accounts accounts = c.state().accounts();
    accounts.Change({QuotaRow{group, priority, nodes}});
    c.state().SetAccounts(std::move(accounts));
  }
  std::vector<std::string> Violations() { return CheckInvariants(c.state(), c.policy(), c.now()); }
  Cluster c;
};

struct Violation {
  const char* sentence;
  void (*plant)(Sound&);
};

const Violation kViolations[] = {
    {"node n1 is held by an attempt that is over",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) {
                      n.holder = {JobId(99), 1};
                    }); }},
    {"node n4 is held by an attempt that does not name it",
     [](Sound& s) { s.Edit(NodeId(4), [](Node& n) { n.holder = kRunning; }); }},
    {"node n1 is claimed by an attempt that is not claimed",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.claim = kRunning; }); }},
    {"node n4 is claimed by an attempt that does not name it",
     [](Sound& s) { s.Edit(NodeId(4), [](Node& n) { n.claim = kClaimed; }); }},
    {"attempt 1.1 was started, and its team has used up its budget",
     [](Sound& s) {
       Budget budget;
       budget.id.team = s.c.job(JobId(1)).team;
       s.c.state().Put(budget);
       s.Edit(kRunning, [&](Attempt& a) { a.claimed_at = s.Now(); });
     }},
    {"node n4 has a claim and no holder", [](Sound& s) { s.Edit(NodeId(4), [](Node& n) { n.claim = kClaimed; }); }},
    {"node n3 is claimed by its holder", [](Sound& s) { s.Edit(NodeId(3), [](Node& n) { n.claim = n.holder; }); }},
    {"node n1: somebody waits for a cordoned node", [](Sound& s) { s.Cordon(NodeId(1), s.Now()); }},
    {"node n3: somebody waits for a cordoned node", [](Sound& s) { s.Cordon(NodeId(3), s.Now()); }},
    {"node n1: an attempt began on a cordoned node", [](Sound& s) { s.Cordon(NodeId(1), TimePoint{1}); }},
    {"node n1 is unreliable, and has failed no job",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.lemon = true; }); }},
    {"node n1 is measured by a job that is over",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.validation.job = JobId(9); }); }},
    {"node n1: an attempt began on a node that waits to be measured",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.validation.need = ValidationNeed::kJoin; }); }},
    {"node n3 is drained, and who is there stays", [](Sound& s) { s.Cordon(NodeId(3), s.Now(), true); }},
    {"node n3 counts as drained, and somebody is there", [](Sound& s) { s.Cordon(NodeId(3), s.Now(), true, true); }},
    {"node n4 is not drained, and has a drain's end", [](Sound& s) { s.Cordon(NodeId(4), s.Now(), false, true); }},
    {"reservation r1 is over, and still there", [](Sound& s) { s.Reserve("r1", NodeId(9), TimePoint{1}, s.Now()); }},
    {"reservation r1 is due, and not in force",
     [](Sound& s) {
       Reservation row;
       row.name = "r1";
       row.begins_at = s.Now();
       row.ends_at = s.Now() + Hours(1);
       s.c.state().Put(row);
     }},
    {"node n4 is two reservations' at once",
     [](Sound& s) {
       s.Reserve("r1", NodeId(4), s.Now());
       s.Reserve("r2", NodeId(4), s.Now());
     }},
    {"node n1: an attempt of others began on a reserved node",
     [](Sound& s) { s.Reserve("r1", NodeId(1), TimePoint{1}); }},
    {"node n3: somebody else waits for a reserved node", [](Sound& s) { s.Reserve("r1", NodeId(3), s.Now()); }},
    {"node n1 is reserved for others, and who is there stays",
     [](Sound& s) {
       s.Edit(kRunning, [](Attempt& a) { a.agreements.clear(); });
       s.Reserve("r1", NodeId(1), s.Now());
     }},
    {"node n1: the ledger does not sum", [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { ++n.ledger[0]; }); }},
    {"node n1: the ledger books another use", [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.use = Use::kFree; }); }},
    {"node n1: a negative entry",
     [](Sound& s) {
       s.Edit(NodeId(1), [](Node& n) {
         n.ledger[7] -= 5;
         n.ledger[0] += 5;
       });
     }},
    {"attempt 1.1 lives, and is not its job's newest",
     [](Sound& s) { s.Edit(JobId(1), [](Job& j) { j.attempts = 2; }); }},
    {"attempt 1.1 is not a whole gang", [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.nodes.pop_back(); }); }},
    {"attempt 1.1 spans more than two zones",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) {
                      a.zones = {"a", "b", "c"};
                    }); }},
    {"attempt 1.1 does not have a place for each node's copies",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.replicas = {NodeId(3)}; }); }},
    {"attempt 1.1 keeps a copy where the shards are",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.replicas = a.nodes; }); }},
    {"attempt 1.1 keeps a copy in another zone",
     [](Sound& s) {
       s.Edit(kRunning, [](Attempt& a) { a.replicas = {NodeId(), NodeId(3)}; });
       s.Edit(NodeId(3), [](Node& n) { n.labels.zone = "another"; });
     }},
    {"attempt 2.1 neither holds nor claims node n1",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.claim = {}; }); }},
    {"attempt 2.1 miscounts the nodes that it holds",
     [](Sound& s) { s.Edit(kClaimed, [](Attempt& a) { a.nodes_held = 2; }); }},
    {"attempt 2.1 has started without a task on each node",
     [](Sound& s) { s.Edit(kClaimed, [](Attempt& a) { a.state = AttemptState::kStarting; }); }},
    {"attempt 1.1: a task and the holder of its node disagree",
     [](Sound& s) {
       Task task = *s.c.state().FindTask({kRunning, 0});
       task.phase = TaskPhase::kReleased;
       s.c.state().Put(task);
     }},
    {"job 1 is queued with a live attempt",
     [](Sound& s) { s.Edit(JobId(1), [](Job& j) { j.state = JobState::kQueued; }); }},
    {"job 3 is running without a live attempt",
     [](Sound& s) { s.Edit(JobId(3), [](Job& j) { j.state = JobState::kRunning; }); }},
    {"job 2 runs without nodes", [](Sound& s) { s.Edit(JobId(2), [](Job& j) { j.state = JobState::kRunning; }); }},
    {"job 3 is queued without a blocker", [](Sound& s) { s.c.state().verdicts = std::make_shared<Verdicts>(); }},
    {"job 3 is queued without a blocker",
     [](Sound& s) {
       auto verdicts = std::make_shared<Verdicts>(*s.c.state().verdicts);
       (*verdicts)[ShapeOf(s.c.job(JobId(3)))].clear();
       s.c.state().verdicts = verdicts;
     }},
    {"user ann is beyond quota at normal, unborrowed",
     [](Sound& s) {
       s.Give({QuotaOf::kUser, "ann"}, kNormal, 1);
     }},
    {"(bob) is beyond quota at high, unborrowed",
     [](Sound& s) {
       s.Give({QuotaOf::kDefaultUser, ""}, kHigh, 2);
     }},
    {"team team is beyond quota at low, unborrowed",
     [](Sound& s) {
       s.Give({QuotaOf::kTeam, "team"}, kLow, 3);
     }},
    {"each user of team team (bob) is beyond quota at normal",
     [](Sound& s) {
       s.Give({QuotaOf::kTeamUser, "team"}, kNormal, 2);
     }},
    {"everybody together in pool default has nodes at high, which is not allowed",
     [](Sound& s) {
       s.Give({QuotaOf::kEverybody, "", "default"}, kNormal, 100);
     }},
    {"attempt 1.1 is beyond a quota, and keeps class normal",
     [](Sound& s) {
       s.Give({QuotaOf::kUser, "ann"}, kNormal, 1);
       s.Edit(kRunning, [](Attempt& a) { a.borrowed = true; });
     }},
    {"attempt 1.1 counts as beyond a quota, and every quota has room",
     [](Sound& s) {
       s.Edit(kRunning, [](Attempt& a) { a.borrowed = true; });
       s.Edit(JobId(1), [](Job& j) { j.priority = kLow; });
     }},
    {"attempt 1.1 was interrupted twice: an agreement is open before its last",
     [](Sound& s) {
       s.Edit(kRunning, [](Attempt& a) {
         a.agreements.push_back(a.agreements.back());
         a.agreements.back().id = 2;
       });
     }},
    {"attempt 1.1: its agreements' numbers do not grow",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.agreements.back().id = 0; }); }},
    {"attempt 1.1 is over, and its agreement is open",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.state = AttemptState::kEnded; }); }},
    {"attempt 1.1 has agreed at no time",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) { a.agreements.back().state = AgreementState::kAgreed; }); }},
    {"attempt 1.1 goes on from a save that is not an earlier attempt's",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) {
                      a.base = {4, "/c", 1, 1, {}};
                    }); }},
    {"attempt 1.1 goes on from a save that its job does not have",
     [](Sound& s) { s.Edit(kRunning, [](Attempt& a) {
                      a.base = {4, "/c", 1, 0, {}};
                    }); }},
    {"job 3 has a save of an attempt that was not yet",
     [](Sound& s) { s.Edit(JobId(3), [](Job& j) { j.durable.attempt = 1; }); }},
    {"job 1: a negative entry in the ledger", [](Sound& s) { s.Edit(JobId(1), [](Job& j) { j.ledger[7] = -5; }); }},
    {"attempt 2.1 waits for nodes that its user or team may not have",
     [](Sound& s) {
       Accounts accounts = s.c.state().accounts();
       User bob{"bob"};
       bob.disabled = true;
       accounts.Change({bob});
       s.c.state().SetAccounts(accounts);
     }},
    {"token 1 outlives its attempt",
     [](Sound& s) {
       TokenRow token;
       token.id = "1";
       token.origin = TokenOrigin::kJob;
       token.attempt = {JobId(9), 1};
       s.c.state().ChangeIdentity({{token}});
     }},
    {"token 1 is of a user who is no more",
     [](Sound& s) {
       TokenRow token;
       token.id = "1";
       s.c.state().ChangeIdentity({{token}});
     }},
    {"too many jobs cross a-z1",  // job 1 has processes on both sides, and job 2 has not begun
     [](Sound& s) {
       s.Edit(NodeId(1), [](Node& n) { n.labels.zone = "a"; });
       s.Edit(kRunning, [](Attempt& a) { a.zones = {"z1", "a"}; });
       s.c.SetLinks({{"a", "z1", 0, 0}}, true);
     }},
    {"too many jobs cross a-z1",  // it is sure to leave, and still there
     [](Sound& s) {
       s.Edit(NodeId(1), [](Node& n) { n.labels.zone = "a"; });
       s.Edit(kRunning, [](Attempt& a) {
         a.zones = {"a", "z1"};
         a.agreements.back().state = AgreementState::kNoAgreement;
       });
       s.c.SetLinks({{"a", "z1", 0, 0}}, true);
     }},
    {"attempt 2.1 holds all its nodes and has not started",  // and the link that it is to cross is free
     [](Sound& s) {
       for (const NodeId id : {NodeId(1), NodeId(2)}) {
         s.Edit(id, [](Node& n) {
           n.holder = n.claim;
           n.claim = {};
         });
       }
       s.Edit(kClaimed, [](Attempt& a) {
         a.nodes_held = 3;
         a.zones = {"a", "z1"};
       });
     }},
    {"attempt 2.1 waits for node n1, which runs no job of its user",
     [](Sound& s) { s.Edit(NodeId(1), [](Node& n) { n.only_uid = 1000; }); }},
    {"attempt 2.1 waits for node n3, which runs no job of its user",
     [](Sound& s) { s.Edit(NodeId(3), [](Node& n) { n.needs_uid = true; }); }},
    {"attempt 2.1 waits for nodes that its user or team may not have",
     [](Sound& s) {
       Accounts accounts = s.c.state().accounts();
       User bob{"bob"};
       bob.uid = bob.gid = 33;
       accounts.Change({bob});
       s.c.state().SetAccounts(std::move(accounts));
     }},
    {"job 2 has an attempt before what it waits for",
     [](Sound& s) { s.Edit(JobId(2), [](Job& j) {
                      j.waits_for = {{JobId(1), DependencyKind::kOk}};
                    }); }},
    {"job 3 waits for what it did not ask for",
     [](Sound& s) { s.Edit(JobId(3), [](Job& j) {
                      j.waits_for = {{JobId(1), DependencyKind::kOk}};
                    }); }},
    {"job 3 waits for what has come",
     [](Sound& s) {
       s.Edit(JobId(2), [](Job& j) { j.state = JobState::kCancelled; });
       s.Edit(JobId(3), [](Job& j) { j.waits_for = {{JobId(2), DependencyKind::kAny}}; });
     }},
    {"job 3 waits for what will never come",
     [](Sound& s) {
       s.Edit(JobId(2), [](Job& j) { j.state = JobState::kCancelled; });
       s.Edit(JobId(3), [](Job& j) { j.waits_for = {{JobId(2), DependencyKind::kOk}}; });
     }},
    {"job 3 waits, and its time limit is used up",
     [](Sound& s) {
       s.Edit(JobId(3), [](Job& j) {
         JobSpec spec = *j.spec;
         spec.time_limit = j.service = Hours(1);
         j.spec = std::make_shared<const JobSpec>(spec);
       });
     }},
};

TEST(Invariants, ASoundStateHasNoViolation) { EXPECT_THAT(Sound().Violations(), IsEmpty()); }

TEST(Invariants, EveryPlantedViolationIsFound) {
  for (const Violation& violation : kViolations) {
    SCOPED_TRACE(violation.sentence);
    Sound sound;
    violation.plant(sound);
    EXPECT_THAT(sound.Violations(), Contains(HasSubstr(violation.sentence)));
  }
}

// Nobody waits for a node whose holder was never asked to leave.
TEST(Invariants, AClaimOnANodeThatNobodyIsLeavingIsFound) {
  Sound sound;
  sound.Edit(kRunning, [](Attempt& a) { a.agreements.back().state = AgreementState::kWithdrawn; });
  EXPECT_THAT(sound.Violations(), ::testing::Not(IsEmpty()));
}

TEST(Invariants, WhatIsAllowedIsNotAViolation) {
  Sound borrowed;
  borrowed.Give({QuotaOf::kUser, "ann"}, kNormal, 1);
  borrowed.Edit(kRunning, [](Attempt& a) { a.borrowed = true; });
  borrowed.Edit(JobId(1), [](Job& j) { j.priority = kLow; });
  EXPECT_THAT(borrowed.Violations(), IsEmpty()) << "beyond quota, but borrowed";

  Sound planning;
  planning.c.state().verdicts = std::make_shared<Verdicts>();
  planning.c.state().dirty = true;
  EXPECT_THAT(planning.Violations(), IsEmpty()) << "no blocker, but the pass is yet to run";

  Sound claimed;
  claimed.Edit(NodeId(3), [](Node& n) { n.labels.zone = "a"; });
  claimed.Edit(kClaimed, [](Attempt& a) { a.zones = {"a", "z1"}; });
  claimed.c.SetLinks({{"a", "z1", 0, 0}}, true);
  EXPECT_THAT(claimed.Violations(), IsEmpty()) << "who claims a link does not cross yet";

  Sound half_gone;
  half_gone.c.Exit(JobId(1), 0, 0);
  ASSERT_EQ(half_gone.c.attempt(JobId(1)).agreements.back().state, AgreementState::kNotifying);
  half_gone.Edit(NodeId(1), [](Node& n) { n.labels.zone = "a"; });
  half_gone.Edit(kRunning, [](Attempt& a) { a.zones = {"a", "z1"}; });
  half_gone.c.SetLinks({{"a", "z1", 0, 0}}, true);
  EXPECT_THAT(half_gone.Violations(), IsEmpty()) << "one side has been released: nothing talks across";

  Sound lowered;
  lowered.Edit(NodeId(1), [](Node& n) { n.labels.zone = "a"; });
  lowered.Edit(kRunning, [](Attempt& a) { a.zones = {"z1", "a"}; });
  lowered.c.SetLinks({{"a", "z1", 0, 0}}, true);
  EXPECT_THAT(CheckInvariants(lowered.c.state(), lowered.c.policy(), lowered.c.now(), {kRunning}), IsEmpty())
      << "who crossed before the link came to carry fewer stays";
}

TEST(Invariants, TimeThatPassesIsNotAViolation) {
  Sound sound;
  EXPECT_THAT(CheckInvariants(sound.c.state(), sound.c.policy(), sound.c.now() + Hours(100)), IsEmpty());
}

}  // namespace
}  // namespace glim::core
