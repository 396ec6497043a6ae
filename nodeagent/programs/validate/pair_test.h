// Two ends of a TCP connection: how many bytes a second go each way, and how long a few bytes take there and back.
#pragma once

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::validate {

struct PairFigures {
  double sent_mbps = 0;      // from this end to the other, as the other end saw them come
  double received_mbps = 0;  // the other way
  double latency_us = 0;     // there and back; the median
};

// Both ends call it at the same time, one of them as the first to send; both learn all figures. Blocks; takes about
// twice `seconds`. UNAVAILABLE: the other end is gone, or said nothing for 20 seconds.
Result<PairFigures> TestPair(const UniqueFd& connection, bool first, double seconds);

}  // namespace glim::validate
