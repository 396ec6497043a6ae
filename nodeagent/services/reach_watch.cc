#include "nodeagent/services/reach_watch.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <optional>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kTargetsMost = 128;
constexpr int kTries = 8;  // in the time after which a node that does not answer is told
constexpr milliseconds kShortest{20}, kLongest{60'000};

// The machine there has answered: it took the connection, or said that it does not.
bool IsAnswer(const boost::system::error_code& error) {
  return !error || error == boost::asio::error::connection_refused || error == boost::asio::error::connection_reset;
}

}  // namespace

// One node. It lives as long as something of it is under way.
class ReachWatch::Target : public std::enable_shared_from_this<Target> {
 public:
  Target(boost::asio::io_context& io, const v1::Probe& probe, std::function<void()> changed)
      : node_(probe.node()),
        address_(probe.address()),
        told_after_(std::clamp(milliseconds(probe.report_after_ms()), kShortest, kLongest)),
        changed_(std::move(changed)),
        resolver_(io),
        socket_(io),
        bound_(io),
        next_(io) {}

  bool Is(const v1::Probe& probe) const { return address_ == probe.address(); }

  void Try() {
    const Clock::time_point began = Clock::now();
    if (!answered_at_ && !tried_since_) tried_since_ = began;
    const std::size_t colon = address_.rfind(':');
    std::string host = address_.substr(0, std::min(colon, address_.size()));
    if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
    const std::string port = colon == std::string::npos ? "1" : address_.substr(colon + 1);
    const auto self = shared_from_this();
    const auto connect = [self](boost::system::error_code error, const tcp::resolver::results_type& at) {
      if (self->ended_) return;
      if (error) return self->Over(error);
      boost::asio::async_connect(self->socket_, at, [self](boost::system::error_code result, const tcp::endpoint&) {
        if (!self->ended_) self->Over(result);
      });
    };
    resolver_.async_resolve(host, port, connect);
    bound_.expires_after(told_after_ / 4);
    bound_.async_wait([self](boost::system::error_code error) {
      if (error || self->ended_) return;
      self->resolver_.cancel();
      boost::system::error_code ignored;
      self->socket_.close(ignored);
    });
    next_.expires_at(began + told_after_ / kTries);
  }

  void Report(v1::NodeReport* report) const {
    if (!is_known_) return;
    v1::ProbeResult& result = *report->add_probes();
    result.set_node(node_);
    result.set_unanswered_ms(Unanswered().count());
  }

  void End() {
    ended_ = true;
    resolver_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
    bound_.cancel();
    next_.cancel();
  }

 private:
  // At least a millisecond, where the newest try failed.
  milliseconds Unanswered() const {
    if (answers_) return milliseconds(0);
    const Clock::time_point since = answered_at_ ? *answered_at_ : *tried_since_;
    return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(Clock::now() - since));
  }

  void Over(const boost::system::error_code& error) {
    bound_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
    const bool before = answers_, was_known = std::exchange(is_known_, true);
    answers_ = IsAnswer(error);
    if (answers_) {
      answered_at_ = Clock::now();
      is_told_ = false;
    }
    const bool is_long = !answers_ && !is_told_ && Unanswered() >= told_after_;
    if (is_long) {
      is_told_ = true;
      LogInfo("event=unreachable node={} address={} error={}", Quoted(node_), Quoted(address_),
              Quoted(error.message()));
    }
    next_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
      if (!cancelled && !self->ended_) self->Try();
    });
    if (is_long || !was_known || before != answers_) changed_();
  }

  const std::string node_, address_;
  const milliseconds told_after_;
  const std::function<void()> changed_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  boost::asio::steady_timer bound_, next_;
  std::optional<Clock::time_point> tried_since_, answered_at_;
  bool is_known_ = false;  // a try is over
  bool answers_ = false;
  bool is_told_ = false;  // that it has not answered for so long
  bool ended_ = false;
};

ReachWatch::ReachWatch(boost::asio::io_context& io, std::function<void()> changed)
    : io_(io), changed_(std::move(changed)) {}

ReachWatch::~ReachWatch() { Stop(); }

void ReachWatch::Accept(const v1::DesiredState& set) {
  std::map<std::string, std::shared_ptr<Target>> wanted;
  for (const v1::Probe& probe : set.probes()) {
    if (wanted.size() == kTargetsMost || wanted.contains(probe.node())) continue;
    const auto known = targets_.find(probe.node());
    if (known != targets_.end() && known->second->Is(probe)) {
      wanted.insert(targets_.extract(known));
      continue;
    }
    const auto target = std::make_shared<Target>(io_, probe, changed_);
    wanted.emplace(probe.node(), target);
    target->Try();
  }
  Stop();
  targets_ = std::move(wanted);
}

void ReachWatch::Report(v1::NodeReport* report) const {
  for (const auto& [node, target] : targets_) target->Report(report);
}

void ReachWatch::Stop() {
  for (const auto& [node, target] : targets_) target->End();
  targets_.clear();
}

}  // namespace glim::nodeagent
