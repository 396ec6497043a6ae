#include "scheduler/server/clients/web_codes.h"

#include <algorithm>
#include <utility>

#include "scheduler/server/clients/token_calls.h"
#include "scheduler/server/clients/token_rules.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr char kCreate[] = "ClientApi/CreateWebCode";

// What the session's token would be; an error is what CreateToken would say.
Result<core::TokenRow> SessionToken(const Caller& maker, const core::Accounts& accounts, TimePoint now) {
  v1::CreateTokenRequest request;
  request.set_note("web session");
  const Duration left = maker.expires_at ? maker.expires_at - now : kWebSessionLife;
  request.set_ttl_ms(std::max<std::int64_t>(1, std::min(left, kWebSessionLife).ms));
  auto row = NewToken(maker, accounts, request, now);
  if (row.ok()) row->session_of = maker.token;
  return row;
}

Status BadCode() {
  return Status(StatusCode::kUnauthenticated, "the code does not count: it is used, or older than a minute")
      .WithReason("BAD_CODE")
      .WithField("code")
      .WithFix("get another one: glim login --web");
}

}  // namespace

void WebCodes::set_url(std::string url) {
  const std::lock_guard lock(mutex_);
  url_ = std::move(url);
}

void WebCodes::Keep(const std::string& hash, const Caller& maker, TimePoint now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(codes_, [now](const auto& row) { return row.second.expires_at <= now; });
  const auto drop_oldest = [this](auto counts, std::size_t max) {
    auto oldest = codes_.end();
    std::size_t count = 0;
    for (auto at = codes_.begin(); at != codes_.end(); ++at) {
      if (!counts(at->second)) continue;
      ++count;
      if (oldest == codes_.end() || at->second.expires_at < oldest->second.expires_at) oldest = at;
    }
    if (count >= max) codes_.erase(oldest);
  };
  drop_oldest([&](const Code& row) { return row.maker.user == maker.user; }, kWebCodesOfUserMax);
  drop_oldest([](const Code&) { return true; }, kWebCodesMax);
  codes_[hash] = {maker, now + kWebCodeLife};
}

bool WebCodes::Take(const std::string& code, TimePoint now, Code* out) {
  const std::lock_guard lock(mutex_);
  const auto found = codes_.find(HashOf(code));
  if (found == codes_.end()) return false;
  *out = std::move(found->second);
  codes_.erase(found);
  return now < out->expires_at;
}

grpc::ServerUnaryReactor* WebCodes::Create(grpc::CallbackServerContext* context,
                                           const v1::CreateWebCodeRequest& request,
                                           v1::CreateWebCodeResponse* response) {
  Call* const call = Call::Open(door_, context, kCreate, request);
  if (!call->admitted()) return call;
  const std::string url = [this] {
    const std::lock_guard lock(mutex_);
    return url_;
  }();
  if (url.empty()) {
    return call->Refuse(Status(StatusCode::kFailedPrecondition, "this scheduler does not serve HTTP")
                            .WithReason("NO_HTTP")
                            .WithFix("start it with --listen-http HOST:PORT"));
  }
  const TimePoint now = door_->loop().Now();
  const auto row = SessionToken(call->caller(), *door_->loop().snapshot()->tables.accounts, now);
  if (!row.ok()) return call->Refuse(row.status());
  const std::string code = MakeToken().secret;
  Keep(HashOf(code), call->caller(), now);
  response->set_code(code);
  response->set_url(url + "/#code=" + code);
  response->set_expires_at_ms((now + kWebCodeLife).ms);
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* WebCodes::Redeem(grpc::CallbackServerContext* context,
                                           const v1::RedeemWebCodeRequest& request,
                                           v1::RedeemWebCodeResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/RedeemWebCode", request);
  if (!call->admitted()) return call;
  SchedulerLoop& loop = door_->loop();
  const TimePoint now = loop.Now();
  if (!attempts_.Take(call->caller().peer, now)) {
    return call->Refuse(Status(StatusCode::kResourceExhausted, "too many codes come from this address")
                            .WithReason("LOGIN_RATE")
                            .WithFix("try again in 10 s"));
  }
  Code code;
  if (!Take(request.code(), now, &code)) return call->Deny(BadCode(), "");
  const std::string object = "user " + code.maker.user;
  const Caller maker = code.maker;
  if (Status s = door_->MayStill(maker, *Method(kCreate), {}); !s.ok()) return call->Deny(s, object);
  auto row = SessionToken(maker, *loop.snapshot()->tables.accounts, now);
  if (!row.ok()) return call->Deny(row.status(), object);
  if (Status s = CheckRoomForToken(*loop.snapshot()->tables.identity, row->user); !s.ok()) return call->Refuse(s);
  const OpaqueToken token = MakeToken();
  row->id = token.id;
  row->hash = HashOf(token.secret);
  AuditNote note = call->Note("token " + row->id, "", InWords(*row));
  note.user = maker.user;
  note.token = maker.token;
  note.still_allowed = [door = door_, maker] { return door->MayStill(maker, *Method(kCreate), {}); };
  response->set_user(row->user);
  response->set_expires_at_ms(row->expires_at.ms);
  core::ChangeIdentity event{{core::IdentityChange{*row, false, {}, true}}, maker.user};
  const Status posted = loop.Post(
      std::move(event),
      [call, response, text = token.Text()](const core::Reply& reply) {
        if (reply.status.ok()) response->set_token(text);
        call->Answer(reply.status, response);
      },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
