// Removes what ended jobs saved, as the scheduler says (docs/policy.md, checkpoint_retention): in the agent's own
// folder of saves, and below the checkpoint root where this node is the one that looks there. On the agent's loop.
//
//   wait -> look at the own folder -> ask -> remove -> (look at the root's -> ask -> remove) -> tell -> wait
//
// While a wait is long it asks now and then how long it is to be, and looks at nothing for that.
//
// A glim-paths looks and removes, with a limit: storage that hangs holds up nobody else, and is not asked again before
// it has answered. The agent never names a folder that it was not asked about, nor one of a job that has a task here.
// Nothing is kept: an agent that starts begins anew, and what a removal left over goes with the next look.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/saves/old_saves.h"
#include "nodeagent/sync/stub_source.h"

namespace glim::nodeagent {

struct SaveCollectorTimes {
  std::chrono::milliseconds first{1'000};       // after the first Welcome of the agent's life
  std::chrono::milliseconds look{10 * 60'000};  // that one look may take
  std::chrono::milliseconds remove{60 * 60'000};
  std::chrono::milliseconds again{60'000};  // after a failure
  // A longer wait for the next look is broken off so often to ask how long it is now: the operator may have changed it.
  std::chrono::milliseconds ask{10 * 60'000};
  std::chrono::milliseconds unknown{60 * 60'000};  // after a scheduler that knows no such question
};

class SaveCollector {
 public:
  struct Hooks {
    std::function<bool(std::uint64_t job)> has_task;
    std::function<std::uint64_t()> epoch;  // the newest that the agent obeys
  };

  // `options` and `stub` outlive it.
  SaveCollector(boost::asio::io_context& io, const AgentOptions& options, StubSource stub, SaveCollectorTimes times,
                Hooks hooks);
  ~SaveCollector();

  void OnWelcome();
  // The agent goes.
  void Stop();

 private:
  enum class Place { kOwn, kRoot };
  struct Call;

  void Wait(std::chrono::milliseconds pause);
  void WaitForNextLook();
  void AskHowLong();
  SavesPlace Where(Place place) const;
  void Look(Place place);
  void Looked(Place place, const ChildWork::Outcome& outcome);
  // `found` null: about nothing.
  void Ask(Place place, const std::vector<FoundSaves>* found);
  void Answered(Place place, Call& call);
  void Remove(Place place, const SavesOrder& order);
  void Removed(Place place, const ChildWork::Outcome& outcome);
  void Next(Place place);
  void EndRound();
  void Failed(const std::string& what, const std::string& why);

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const StubSource stub_;
  const SaveCollectorTimes times_;
  const Hooks hooks_;
  boost::asio::steady_timer timer_;
  ChildWork children_;
  ChildWork::Id child_ = 0;  // the newest; 0: none yet
  std::shared_ptr<Call> call_;
  bool begun_ = false;
  bool telling_ = false;                                            // what has gone, and asking nothing
  std::string last_failure_;                                        // the same words are not logged again
  std::map<std::uint64_t, std::int64_t> held_;                      // what was asked about: bytes by job
  std::map<Place, std::map<std::uint64_t, std::int64_t>> removed_;  // and not told yet
  std::string root_;                                                // to look through in this round; empty: none
  std::chrono::milliseconds again_;                                 // from one look to the next
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace glim::nodeagent
