#include "scheduler/oidc/verifier.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "sdk/https/https.h"
#include "sdk/https/safe_url.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::oidc {
namespace {

constexpr std::size_t kAskedMax = 64;
constexpr std::size_t kUsedMax = 100'000;

Status Unreachable(const std::string& what) {
  return Status(StatusCode::kUnavailable, what)
      .WithReason("ISSUER_UNREACHABLE")
      .WithFix("try again; if it stays so, an operator looks at `oidc` of the scheduler's configuration");
}

}  // namespace

Result<std::string> FetchDocument(const std::string& url) {
  Result<https::Answer> answer = https::CurlClient().Get(url);
  if (!answer.ok()) return answer.status();
  if (answer->status == 200) return std::move(answer->body);
  return Unreachable(url + " answers " + std::to_string(answer->status));
}

Verifier::Verifier(Issuer issuer, Fetch fetch, std::function<TimePoint()> clock)
    : issuer_(std::move(issuer)), fetch_(std::move(fetch)), clock_(std::move(clock)), thread_([this] { Run(); }) {}

Verifier::~Verifier() { Stop(); }

void Verifier::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Verifier::Verify(std::string id_token, Done done) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return Status(StatusCode::kUnavailable, "the scheduler is stopping").WithReason("STOPPING");
  if (asked_.size() >= kAskedMax) {
    return Status(StatusCode::kResourceExhausted, "too many sign in at once")
        .WithReason("OVERLOADED")
        .WithFix("try again in a few seconds");
  }
  asked_.push_back({std::move(id_token), std::move(done)});
  changed_.notify_all();
  return Status::Ok();
}

void Verifier::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !asked_.empty(); });
    if (asked_.empty()) return;
    const Asked next = std::move(asked_.front());
    asked_.pop_front();
    const bool stopped = stopped_;
    lock.unlock();
    next.done(stopped ? Status(StatusCode::kUnavailable, "the scheduler is stopping").WithReason("STOPPING")
                      : Judge(next.id_token));
    lock.lock();
  }
}

// Claims first: what is of no use anyhow makes nobody ask the issuer.
Result<std::string> Verifier::Judge(const std::string& id_token) {
  const TimePoint now = clock_();
  const Result<Jwt> jwt = ParseJwt(id_token);
  if (!jwt.ok()) return jwt.status();
  Result<std::string> user = UserOf(*jwt, issuer_, now);
  if (!user.ok()) return user;
  const Result<const PublicKey*> key = KeyFor(*jwt, now);
  if (!key.ok()) return key.status();
  if (!IsSignedBy(*jwt, **key)) return BadIdToken("its signature is not the issuer's");
  if (Status s = UseOnce(*jwt, now); !s.ok()) return s;
  return user;
}

Result<const PublicKey*> Verifier::KeyFor(const Jwt& jwt, TimePoint now) {
  const bool fresh = fetched_at_ && now < fetched_at_ + kKeysKept;
  const PublicKey* key = fresh ? FindKey(keys_, jwt) : nullptr;
  if (key != nullptr) return key;
  const Duration pause = fresh ? kUnknownKeyPause : kFailurePause;
  if (!tried_at_ || now >= tried_at_ + pause) {
    failure_ = FetchKeys(now);
    tried_at_ = now;
    if (failure_.ok()) key = FindKey(keys_, jwt);
  }
  if (key != nullptr) return key;
  return failure_.ok() ? BadIdToken("the issuer has no such key") : failure_;
}

Status Verifier::FetchKeys(TimePoint now) {
  const std::string base =
      issuer_.issuer.ends_with('/') ? issuer_.issuer.substr(0, issuer_.issuer.size() - 1) : issuer_.issuer;
  const Result<std::string> discovery = fetch_(base + "/.well-known/openid-configuration");
  if (!discovery.ok()) return discovery.status();
  const nlohmann::json document = nlohmann::json::parse(*discovery, nullptr, false);
  const auto text = [&document](const char* name) {
    const auto it = document.is_object() ? document.find(name) : document.end();
    return document.is_object() && it != document.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (text("issuer") != issuer_.issuer) return Unreachable("the issuer's configuration is of another issuer");
  const std::string place = text("jwks_uri");
  if (!https::IsSafeUrl(place)) return Unreachable("the issuer's configuration names no safe place of its keys");
  const Result<std::string> set = fetch_(place);
  if (!set.ok()) return set.status();
  Result<std::vector<PublicKey>> keys = ParseJwks(*set);
  if (!keys.ok()) return Unreachable(keys.status().message());
  keys_ = std::move(*keys);
  fetched_at_ = now;
  return Status::Ok();
}

// A token that is stolen after its use is of no use. By what was signed: one signature of ES256 has two spellings.
Status Verifier::UseOnce(const Jwt& jwt, TimePoint now) {
  std::erase_if(used_, [now](const auto& entry) { return entry.second < now; });
  if (used_.size() >= kUsedMax) {
    return Status(StatusCode::kResourceExhausted, "too many have signed in lately")
        .WithReason("OVERLOADED")
        .WithFix("try again in a few minutes");
  }
  const TimePoint until =
      std::min(TimePoint{jwt.expires_at * 1000} + kClockSlack, TimePoint{jwt.issued_at * 1000} + kAgeMax);
  if (used_.emplace(HashOf(jwt.signed_part), until).second) return Status::Ok();
  return Status(StatusCode::kUnauthenticated, "the issuer's ID token was used before")
      .WithReason("ID_TOKEN_USED")
      .WithField("id_token")
      .WithFix("sign in again");
}

}  // namespace glim::oidc
