#include "nodeagent/services/save_service.h"

#include <chrono>
#include <utility>

#include "sdk/base/host_port.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kTryAgain{2};

}  // namespace

SaveService::SaveService(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> on_news)
    : options_(options), on_news_(std::move(on_news)), key_(MakeSaveKey()), timer_(io) {}

void SaveService::Start() {
  if (options_.saves_listen == "none") return;
  const Status status = Listen();
  if (status.ok()) return;
  if (options_.saves_listen.empty()) {
    return LogError(
        "event=saves_not_served error={} note=\"saves cannot be copied from this node: name an address of its own "
        "with --saves-listen\"",
        Quoted(status.message()));
  }
  fault_ = status.message() +
           ": saves cannot be copied from this node; end what listens there, and reserve the port "
           "(net.ipv4.ip_local_reserved_ports) or name another with --saves-listen";
  LogError("event=node_fault kind=saves_port error={}", Quoted(fault_));
  TryLater();
}

Status SaveService::Listen() {
  SaveServerOptions server;
  server.listen = options_.saves_listen.empty() ? JoinHostPort(options_.address, 0) : options_.saves_listen;
  server.node = options_.node_name;
  server.state_dir = options_.state_dir;
  server.key = key_;
  Result<std::unique_ptr<SaveServer>> started = SaveServer::Start(std::move(server));
  if (!started.ok()) return started.status();
  server_ = std::move(started).value();
  LogInfo("event=saves_served address={}", server_->address());
  return Status::Ok();
}

void SaveService::TryLater() {
  timer_.expires_after(kTryAgain);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (!Listen().ok()) return TryLater();
    fault_.clear();
    LogInfo("event=node_fault_over kind=saves_port");
    on_news_();
  });
}

void SaveService::Stop() {
  timer_.cancel();
  server_.reset();
}

void SaveService::Introduce(v1::Hello* hello) const {
  if (!server_) return;
  hello->set_save_address(server_->address());
  hello->set_save_key(key_);
}

void SaveService::Report(v1::NodeReport* report) const {
  if (fault_.empty()) return;
  v1::NodeFault& fault = *report->add_faults();
  fault.set_kind("saves_port");
  fault.set_message(fault_);
}

}  // namespace glim::nodeagent
