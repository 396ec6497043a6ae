// Receipts: that the scheduler has launched the tasks of this node, in its own words, which nobody else can make. A
// scheduler whose store has lost a task believes by its receipt alone that the task is its own. Kept in
// STATE_DIR/receipts.json as long as the task is known here or wanted; that of the highest job number for ever.
//
// Used on the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"

namespace glim::nodeagent {

class Receipts {
 public:
  // What an earlier life has kept. A file that cannot be used is set aside and logged: its tasks have no receipts then.
  explicit Receipts(std::string state_dir);

  // Of the tasks of this set; `is_there` says of which others receipts are still wanted. Before anything of the set is
  // launched. Where the file cannot be written, that is logged, and this life of the agent knows them.
  void Take(const v1::DesiredState& set, const std::function<bool(const TaskKey&)>& is_there);
  // Empty: there is none.
  std::string Of(const TaskKey& key) const;
  void Introduce(v1::Hello* hello) const;

 private:
  void Load();
  void Save() const;

  const std::string state_dir_;
  std::map<TaskKey, std::string> receipts_;
  std::pair<TaskKey, std::string> highest_;  // of the highest job
};

}  // namespace glim::nodeagent
