// How an attempt begins: a node is given on task by task, and the last one starts the gang.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// All nodes are held: makes the tasks and launches them.
void BeginStart(Changes& changes, AttemptId attempt);

// Begins with it if the link that it crosses has been left; else whoever leaves that link begins it.
void BeginWhenItMay(Changes& changes, AttemptId attempt);

// Takes the node from its holder and gives it to its claimant, if there is one.
void ReleaseNode(Changes& changes, NodeId node);

// Those that hold all their nodes and wait for a link begin, in the order in which they claimed, as far as they may.
void BeginCrossings(Changes& changes);

// While a node is taken from its holder: the last of one side leaves the link to whoever waits for it.
class LinkHandover {
 public:
  LinkHandover(Changes& changes, NodeId node);
  // To be called when the node's row says that its holder has it no more.
  void Done();

 private:
  Changes& changes_;
  AttemptId crosses_;  // the holder, if it has a link; else none
};

}  // namespace glim::core
