#include "nodeagent/services/save_service.h"

#include <utility>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::nodeagent {

SaveService::SaveService(const AgentOptions& options) : options_(options), key_(MakeSaveKey()) {}

Status SaveService::Start() {
  if (options_.saves_listen == "none") return Status::Ok();
  SaveServerOptions server;
  const bool named = !options_.saves_listen.empty();
  server.listen = named ? options_.saves_listen : options_.address + ":0";
  server.node = options_.node_name;
  server.state_dir = options_.state_dir;
  server.key = key_;
  Result<std::unique_ptr<SaveServer>> started = SaveServer::Start(std::move(server));
  if (started.ok()) {
    server_ = std::move(started).value();
    LogInfo("event=saves_served address={}", server_->address());
    return Status::Ok();
  }
  if (named) return started.status();
  LogError(
      "event=saves_not_served error={} note=\"saves cannot be copied from this node: name an address of its own "
      "with --saves-listen\"",
      Quoted(started.status().message()));
  return Status::Ok();
}

void SaveService::Stop() { server_.reset(); }

void SaveService::Introduce(v1::Hello* hello) const {
  if (!server_) return;
  hello->set_save_address(server_->address());
  hello->set_save_key(key_);
}

}  // namespace glim::nodeagent
