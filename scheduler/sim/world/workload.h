// Random jobs, and how their ranks behave when they are asked to leave.
#pragma once

#include <cstdint>

#include "scheduler/core/model/spec.h"
#include "sdk/base/rng.h"

namespace glim::sim {

// What a rank does about an interrupt.
enum class Manners : std::uint8_t {
  kPrompt,  // acknowledges within a quarter of a second
  kLate,    // within twenty seconds: sometimes too late for the agreement
  kTwice,   // acknowledges, and says so again later
  kNever,   // says nothing at all: it is killed at its deadline
};

// Why a start of the job fails, whatever node it is on.
enum class StartFault : std::uint8_t {
  kNone,
  kOwn,              // no node would do better, and its agent says so
  kPathNowhere,      // it names a path that no node has
  kPathOfSomeNodes,  // it names a path that a node may lack, or that does not answer there (Trouble)
};

inline constexpr std::int64_t kGoesOn = -2, kBeforeSteps = -1;

// What a job does, beyond its spec. A pure function of (world seed, job's place in the workload).
struct JobScript {
  core::JobSpec spec;
  std::int64_t steps = 0;
  Duration step_time;
  Duration save_time;
  std::int64_t save_every = 0;         // steps; 0: only when asked
  Manners manners = Manners::kPrompt;  // of its last rank; the others are prompt
  std::int64_t fails_at_step = -1;     // a plain failure of the program
  std::int32_t fail_code = 7;          // its exit code
  bool plain = false;  // it knows nothing of Glim: no hello, no word of steps and saves, and a signal ends it
  bool ignores_term = false;
  std::uint32_t start_fails_one_in = 0;  // 0: never
  bool own_folder = false;               // it saves into the own checkpoint folder of the nodes that write
  bool sharded = false;                  // every rank writes a shard of each save, and else the first one all of it
  StartFault start_fault = StartFault::kNone;
  bool extends = false;  // asked to leave, it asks for all of its max_grace
  // What ranks do that nobody asked for.
  bool leaves_at_once = false;           // asked by the flag, each leaves when it looks next, and agrees on nothing
  std::int64_t yields_after = 0;         // steps of an attempt, after which it leaves by itself; 0: it does not
  bool yields_saved = false;             // having saved
  std::int64_t hangs_at_step = kGoesOn;  // having done that step they stand still; kBeforeSteps: when they have begun
  bool talks = false;  // standing still, it prints all the same: nothing is seen of it but that its GPUs are idle
  std::uint32_t odd_attempts = 0;   // in how many of its first attempts it yields or hangs
  std::int64_t restores_short = 0;  // of every other attempt: so many steps before the save, which was damaged
  bool boasts = false;              // it says of itself what protects it: restores of a day, graces without end
};

JobScript MakeScript(Rng& rng, std::uint32_t nodes_max);

}  // namespace glim::sim
