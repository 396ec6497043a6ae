// What the shim and glim-init, the first process of a task's container, say to each other over one stream socket.
//
//   shim -> init   the launch (launch.json's text): its length in decimal, a line feed, the bytes
//   init -> shim   "started I PID" for each rank, or "failed I FAULT REASON" and no more; I counts from 0,
//                  PID is the container's own number for it, FAULT a word of start_fault.h
//   shim -> init   one byte 'g': go on. Until then no rank is reaped, so that its process can be found
//   init -> shim   "exited I WAIT_STATUS" for each rank
//
// The ranks' output goes to descriptors kFirstOutput + I. When the shim is gone, init goes on without it; it ends when
// no process is left in the container but itself.
#pragma once

namespace glim::nodeagent {

inline constexpr int kControl = 3;
inline constexpr int kFirstOutput = 4;
inline constexpr char kGo = 'g';

}  // namespace glim::nodeagent
