#include "nodeagent/services/replica_watch.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

}  // namespace

ReplicaWatch::ReplicaWatch(boost::asio::io_context& io, std::string state_file, std::string keys_file,
                           std::string cluster, std::function<void()> on_news)
    : state_file_(std::move(state_file)), keys_file_(std::move(keys_file)), on_news_(std::move(on_news)), timer_(io) {
  issuers_.cluster = std::move(cluster);
}

void ReplicaWatch::Start() {
  if (state_file_.empty()) return;
  Look();
  LookLater();
}

void ReplicaWatch::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void ReplicaWatch::Introduce(v1::Hello* hello) const {
  if (!seen_) return;
  hello->set_replica_address(seen_->address);
  hello->set_replica_key(seen_->key.data(), seen_->key.size());
}

void ReplicaWatch::OnWelcome(const v1::Welcome& welcome) {
  if (keys_file_.empty()) return;
  checkpoint::ReplicaIssuers told{issuers_.cluster, {}, welcome.private_fabric()};
  for (const std::string& bytes : welcome.replica_keys()) {
    Ed25519Key key{};
    if (bytes.size() != key.size()) continue;
    std::memcpy(key.data(), bytes.data(), key.size());
    told.keys.push_back(key);
  }
  issuers_ = std::move(told);
  WriteKeys();
}

// Written anew with each Welcome: whoever may have changed the file, it says then what the scheduler says.
void ReplicaWatch::WriteKeys() {
  const WriteOptions options{Durability::kProcess, 0644, /*sole_writer=*/true};
  const Status status = WriteFileAtomically(keys_file_, checkpoint::TextOf(issuers_), options);
  if (!status.ok() && !keys_wait_) LogError("event=replica_keys_not_written error={}", Quoted(status.message()));
  keys_wait_ = !status.ok();
}

void ReplicaWatch::Look() {
  const Result<checkpoint::ReplicaState> read = checkpoint::ReadState(state_file_);
  const std::optional<checkpoint::ReplicaState> now = read.ok() ? std::optional(*read) : std::nullopt;
  if (!read.ok() && read.status().code() != StatusCode::kNotFound && seen_) {
    LogError("event=replica_state_unread error={}", Quoted(read.status().message()));
  }
  if (now == seen_) return;
  seen_ = now;
  if (seen_) {
    LogInfo("event=replica_serving address={}", Quoted(seen_->address));
  } else {
    LogWarning("event=replica_gone note=\"what it held is lost\"");
  }
}

void ReplicaWatch::LookLater() {
  timer_.expires_after(kLookEvery);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error || stopped_) return;
    if (keys_wait_) WriteKeys();
    const std::optional<checkpoint::ReplicaState> before = seen_;
    Look();
    LookLater();
    if (before != seen_) on_news_();
  });
}

}  // namespace glim::nodeagent
