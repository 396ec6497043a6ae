// What glim-replica and its transfer processes give up, so that whoever takes one over has nothing but that process:
// all capabilities, new privileges (set-uid programs), being looked into by others of the same user, dumps of memory,
// and system calls. For good, and for the processes that they start.
//
// A transfer process runs UCX, which writes where the peer says. Once UCX has opened its devices it needs memory, its
// sockets and little else: what is not on the list fails with EPERM (opening files, starting programs, signals, other
// processes' memory, code that was written at run time). UCX's tcp reads /proc/net/route for each endpoint: it gets the
// file that was opened before, from a handler of the trapped call.
//
// x86-64 and AArch64. Called once, before there is anything to protect; the thread that calls is enough (all threads
// are confined).
#pragma once

#include "sdk/base/status.h"

namespace glim::checkpoint {

// The service, at its start, and each transfer process before UCX. UNAVAILABLE: the kernel refuses, and says what.
Status ConfineService();

enum class Files {
  kNone,   // opening one fails, but for the table of routes
  kThose,  // that are there: verbs look at the card's while they connect
};
// A transfer process, after UCX has opened its devices. UNAVAILABLE.
Status ConfineTransfer(Files files);

}  // namespace glim::checkpoint
