#include "nodeagent/services/socket_watch.h"

#include <sstream>
#include <utility>

#include "nodeagent/os/root_sockets.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kLimit{30};

}  // namespace

SocketWatch::SocketWatch(boost::asio::io_context& io, std::string program, std::chrono::milliseconds again,
                         std::function<void()> changed)
    : program_(std::move(program)), again_(again), changed_(std::move(changed)), timer_(io), children_(io) {}

void SocketWatch::Start() { Look(); }

void SocketWatch::Stop() {
  stopped_ = true;
  children_.Stop();
  timer_.cancel();
}

void SocketWatch::Look() {
  const Result<ChildWork::Id> look = children_.Start({program_, "sockets"}, "", kLimit,
                                                     [this](const ChildWork::Outcome& outcome) { OnFound(outcome); });
  if (!look.ok()) LookLater();
}

void SocketWatch::OnFound(const ChildWork::Outcome& outcome) {
  LookLater();
  if (!outcome.in_time) return;
  std::vector<std::string> names = ReadSocketLines(outcome.output);
  if (names == names_) return;
  names_ = std::move(names);
  std::string all;
  for (const std::string& name : names_) all += (all.empty() ? "@" : " @") + name;
  if (names_.empty()) {
    LogInfo("event=exposed_sockets_gone");
  } else {
    LogWarning(
        "event=exposed_sockets count={} names={} note=\"root's programs listen there, and tasks, which share the "
        "node's network, reach them: stop these programs, or give them a socket with a file\"",
        names_.size(), Quoted(all));
  }
  changed_();
}

void SocketWatch::LookLater() {
  timer_.expires_after(again_);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Look();  // (its time may have come before Stop)
  });
}

void SocketWatch::Report(v1::NodeReport* report) const {
  for (const std::string& name : names_) report->add_exposed_sockets(name);
}

}  // namespace glim::nodeagent
