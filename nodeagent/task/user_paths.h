// What a job names of the node's file systems, and what is found there. Looking at such a path may hang for ever, so
// glim-paths does it for the agent (LookAt), and answers. Values; all but LookAt is pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodeagent/os/node_accounts.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct PathWish {
  std::string field;  // of the job's spec: "workdir", "checkpoint.dir", "mounts[0].source"
  std::string path;   // absolute
  bool make = false;  // a folder that is made where it is missing
  // The cluster's folder for the job's saves, ROOT/jobs/JOB, which the operator chose: where the job's user may not
  // make it or pass to it, whoever calls LookAt does. It is the user's, and nobody else can exchange it
  // (saves_folder.h).
  bool by_agent = false;
};

// In what folders something may be made, and who looks and makes, with no more than that user's rights. None: anywhere,
// whoever calls LookAt.
struct MakeRules {
  std::vector<std::string> allow;  // folders, and all below
  std::string state_dir;           // the agent's own: not there, nor above it
  TaskUser owner;
};

// Who the job's user is, to be held against the node's own accounts.
struct AccountWish {
  RegistryUser user;
  std::string node;  // this one's name
};

struct PathOrder {
  std::vector<PathWish> wishes;
  std::optional<MakeRules> rules;
  std::optional<AccountWish> account = {};
  bool group_readable = false;  // what is made is its owner's group's to read (sdk/io/shared_folder.h)
};

struct PathAnswer {
  std::string real;      // without symbolic links; empty: see the others
  int error = 0;         // errno
  bool refused = false;  // it is not there, and may not be made there
  std::string why;       // with an error, for people; empty: errno says it
};
using PathAnswers = std::map<std::string, PathAnswer>;  // by field

// "/data" holds "/data" and all below.
bool IsWithin(const std::string& path, const std::string& folder);
// Whether `real`, a path without links, lies where the rules allow it.
bool IsAllowed(const MakeRules& rules, const std::string& real);

std::string ToJson(const PathOrder& order);
Result<PathOrder> ParsePathOrder(const std::string& text);

// Carries the order out, the account first, then one wish after another. `tell` gets a record before each wish and one
// after it. It blocks for as long as the storage does, or whoever knows the accounts.
void LookAt(const PathOrder& order, const std::function<void(const std::string& record)>& tell);

// What the records say. `looking_at`: the wish that has no answer yet; none: all have one, or nothing was begun.
struct PathRecords {
  PathAnswers answers;
  std::optional<PathWish> looking_at;
  std::optional<std::string> account_fault;    // AccountFault's answer, once there is one
  std::optional<std::string> accounts_unread;  // why there is none
};
PathRecords ReadPathRecords(const PathOrder& order, std::string_view records);

}  // namespace glim::nodeagent
