// Searches logs for the scheduler (sdk/base/line_pages.h), one after the other, in a thread of its own that starts with
// the first question and comes after everything else on the node: at a low priority, at most kSearchBytesPerSecond.
//
// On the agent's loop but for that thread. Bounded: kSearchesMax wait; one that has waited for too long is answered
// with where it stood.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "glim/v1/agent_api.pb.h"

namespace glim::nodeagent {

inline constexpr std::size_t kSearchesMax = 16;
inline constexpr std::int64_t kSearchBytesPerSecond = std::int64_t{512} << 20;
inline constexpr std::int64_t kSearchMsMax = 10'000;

// What is wrong with it; empty: nothing.
std::string BadSearch(const v1::LogRequest& request);

class LogSearcher {
 public:
  using Done = std::function<void(v1::LogChunk)>;

  // `io` outlives it, and stops before it goes or does not run any more.
  explicit LogSearcher(boost::asio::io_context& io) : io_(io) {}
  ~LogSearcher();

  // `folder` is the attempt's. `done` is called once, on the loop, unless Drop comes first. False: too many wait.
  bool Post(v1::LogRequest request, std::string folder, Done done);
  // Nobody waits for what was posted.
  void Drop();

 private:
  using Steady = std::chrono::steady_clock;
  struct Work {
    v1::LogRequest request;
    std::string folder;
    Done done;
    Steady::time_point until;
    std::uint64_t round = 0;
  };
  void Run();
  v1::LogChunk Search(const Work& work);
  bool MayRead(const Work& work, std::size_t bytes);

  boost::asio::io_context& io_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> waiting_;
  std::uint64_t round_ = 0;  // what is of an earlier one nobody waits for
  bool stopped_ = false;
  Steady::time_point free_at_{};  // the thread's own: when the next bytes may be read
  std::thread thread_;
};

}  // namespace glim::nodeagent
