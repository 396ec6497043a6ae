#include "scheduler/notify/target.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "scheduler/notify/command.h"
#include "scheduler/notify/signature.h"
#include "sdk/base/printable.h"
#include "sdk/https/https.h"
#include "sdk/io/private_file.h"
#include "sdk/log/log.h"

namespace glim::notify {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;
constexpr std::size_t kSecretBytesMin = 16;

// Read anew each time: an operator who writes another secret restarts nothing.
Result<std::string> Secret(const std::string& path) {
  Result<std::string> secret = ReadPrivateFile(path, kSecretBytesMax);
  if (!secret.ok()) return secret;
  while (!secret->empty() && (secret->back() == '\n' || secret->back() == '\r')) secret->pop_back();
  if (secret->size() >= kSecretBytesMin) return secret;
  return Status(StatusCode::kInvalidArgument, path + ": a secret has at least 16 bytes")
      .WithReason("BAD_SECRET")
      .WithFix("write a random one: openssl rand -hex 32");
}

// The machine's own clock, which receivers compare theirs with; the scheduler's is another one (clock.h).
std::int64_t UnixSeconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

Status SendWebhook(const core::NotifyWebhook& webhook, const Message& message, const std::atomic<bool>& stopping) {
  const Result<std::string> secret = Secret(webhook.secret_file);
  if (!secret.ok()) return secret.status();
  https::JsonPost post{webhook.url, message.body, {}};
  post.headers = {{kSignatureHeader, Signature(*secret, UnixSeconds(), message.body)}, {"Glim-Delivery", message.id}};
  const auto answer = https::PostJson(post, stopping);
  if (!answer.ok()) return answer.status();
  const int status = answer->status;
  if (status >= 200 && status < 300) return Status::Ok();
  const std::string words = "the answer was " + std::to_string(status);
  const bool later = status == 408 || status == 425 || status == 429 || status >= 500;
  if (later) return Status(StatusCode::kUnavailable, words).WithReason("NOT_NOW");
  return Status(StatusCode::kFailedPrecondition, words).WithReason("REFUSED");
}

}  // namespace

Target TargetOf(const core::NotifyPolicy& policy, const std::string& name) {
  if (const auto it = policy.webhooks.find(name); it != policy.webhooks.end()) {
    return {TargetKind::kWebhook, it->second, {}};
  }
  if (const auto it = policy.commands.find(name); it != policy.commands.end()) {
    return {TargetKind::kCommand, {}, it->second};
  }
  return {};
}

Status SendTo(const Target& target, const Message& message, const std::atomic<bool>& stopping) {
  if (target.kind == TargetKind::kWebhook) return SendWebhook(target.webhook, message, stopping);
  const auto ran = RunCommand(target.command, message.body, kCommandMax, stopping);
  if (!ran.ok()) return ran.status();
  if (!ran->output.empty())
    LogInfo("a notification's command said to={} \"{}\"", message.target, EscapedStart(ran->output, kCommandOutputMax));
  if (ran->exit_code == 0) return Status::Ok();
  return Status(StatusCode::kUnavailable, target.command.path + " ended with " + std::to_string(ran->exit_code))
      .WithReason("COMMAND_FAILED");
}

Status CheckTarget(const Target& target) {
  if (target.kind == TargetKind::kWebhook) return Secret(target.webhook.secret_file).status();
  return target.kind == TargetKind::kCommand ? CheckCommand(target.command).status() : Status::Ok();
}

}  // namespace glim::notify
