// Which of a node's folders a job names, and whether a node gives them to jobs. Pure: paths are compared by their
// components, as they are written. Links are the node's to follow, at the start.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/pool_layout.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/status.h"

namespace glim::core {

// "/data" holds "/data" and "/data/set", not "/database"; "/" holds all.
bool IsWithin(const std::string& path, const std::string& folder);

// What every task sees of its own: the system's folders, and /tmp.
bool IsOfTheImage(const std::string& path);

struct NamedPath {
  std::string field;  // of the spec
  std::string path;
};

// What the job needs of its nodes: mounts, a checkpoint folder of its own, the workdir. Not what lies in the image or
// in one of its mounts, and not the workdir of a job that runs in a snapshot.
std::vector<NamedPath> PathsOnNodes(const JobSpec& spec);

// No folders: the node gives everything.
bool Gives(const std::vector<std::string>& folders, const std::string& path);

// By PoolLayout::folder_lists, which of them give the job all that it names; empty: all do.
std::vector<bool> ListsThatGive(const PoolLayout& pool, const JobSpec& spec);

// Do the nodes of these kinds, which are otherwise as the job asks, give it what it names, and enough of them? The
// refusal names the field and the folders that would do.
Status CheckPaths(const PoolLayout& pool, const std::vector<const NodeKind*>& fitting, const JobSpec& spec);

}  // namespace glim::core
