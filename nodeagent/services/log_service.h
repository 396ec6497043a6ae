// The agent's side of AgentApi.ServeLogs: the agent calls, the scheduler asks. On the agent's loop; not thread-safe.
//
// A request is answered as soon as there is something after its offset, when nothing will ever come, or after its
// wait. At most kRequestsMax are under way and kLogChunkBytesMax go into one answer; answers go out one by one. A
// search is handed to log_searcher.h.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/services/log_searcher.h"
#include "nodeagent/sync/bidi_stream.h"
#include "nodeagent/sync/reconnect.h"
#include "nodeagent/sync/stub_source.h"

namespace glim::nodeagent {

inline constexpr std::size_t kLogRequestsMax = 64;
inline constexpr std::size_t kLogChunkBytesMax = 64 * 1024;

class LogService {
 public:
  struct Hooks {
    std::function<v1::LogChunk()> introduction;
    std::function<std::string(std::uint64_t job, std::uint32_t attempt)> folder;
    // Whether more may come: a task of this attempt is on the node and has not ended.
    std::function<bool(std::uint64_t job, std::uint32_t attempt)> open;
  };

  // References outlive the service.
  LogService(boost::asio::io_context& io, StubSource stub, FolderWatch& watch, std::uint64_t seed, Hooks hooks);

  // While up, a stream that breaks is opened again. Up and down follow Sync: the scheduler knows the node by that.
  void Up();
  void Down();
  // A task has ended: whoever waits for more of its log is to hear so.
  void TaskEnded(std::uint64_t job, std::uint32_t attempt);

 private:
  using Stream = BidiStream<v1::LogChunk, v1::LogRequest>;
  struct Pending {
    v1::LogRequest request;
    FolderWatch::Id watch = 0;
    std::unique_ptr<boost::asio::steady_timer> deadline;
  };

  void Connect();
  void OnDone(const grpc::Status& status);
  void OnRequest(v1::LogRequest request);
  void Search(v1::LogRequest request);
  bool Answer(const v1::LogRequest& request, bool waited);
  void Serve(std::uint64_t id, bool waited);
  void Refuse(const v1::LogRequest& request, const std::string& error);
  void Send(v1::LogChunk chunk);
  void Clear();

  boost::asio::io_context& io_;
  const StubSource stub_;
  FolderWatch& watch_;
  const Hooks hooks_;
  Reconnect reconnect_;
  boost::asio::steady_timer connect_timer_;
  std::shared_ptr<Stream> stream_;
  std::map<std::uint64_t, Pending> pending_;
  std::deque<v1::LogChunk> output_;
  LogSearcher searcher_;
  bool up_ = false;
  bool writing_ = false;
};

}  // namespace glim::nodeagent
