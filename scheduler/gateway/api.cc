#include "scheduler/gateway/api.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "proto/json/message_read.h"
#include "scheduler/gateway/answers.h"
#include "scheduler/gateway/openapi_text.h"
#include "scheduler/gateway/request_fields.h"
#include "scheduler/gateway/rpc_stream.h"
#include "scheduler/gateway/stream_sink.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::gateway {

using google::protobuf::Message;

struct Api::Asked {
  HttpRequest request;
  std::shared_ptr<Exchange> exchange;
  Asker asker;
};

namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::size_t kCompressedFrom = std::size_t{4} << 10;
constexpr char kSession[] = "/v1/session";
constexpr char kStream[] = "/v1/stream";
constexpr char kDescription[] = "/v1/openapi.json";
constexpr char kWelcome[] =
    "This is Glim's HTTP port. The API is below /v1 (try /v1/version with a token in Authorization); docs/http.md\n"
    "describes it. No pages are served: web_root in the scheduler's configuration names their folder.\n";

HttpAnswer TextAnswer(std::string text) {
  HttpAnswer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::make_shared<const std::string>(std::move(text));
  return answer;
}

HttpAnswer JsonAnswer(const proto::Json& document) {
  HttpAnswer answer;
  answer.content_type = kJsonType;
  answer.body = std::make_shared<const std::string>(DumpDocument(document));
  return answer;
}

HttpAnswer VerbRefused(const HttpRequest& request, const std::vector<std::string_view>& verbs) {
  std::string allow = "OPTIONS";
  for (const std::string_view verb : verbs) allow += ", " + std::string(verb);
  HttpAnswer answer;
  answer.status = 204;
  if (request.verb != "OPTIONS") answer = ErrorAnswer(405, "BAD_VERB", "this path takes " + allow, "use one of these");
  answer.headers.emplace_back("Allow", std::move(allow));
  return answer;
}

StreamCaller CallerOf(const v1::WhoAmIResponse& who) {
  StreamCaller caller;
  caller.user = who.user();
  caller.role = who.role();
  caller.teams.assign(who.teams().begin(), who.teams().end());
  caller.admin_of.assign(who.admin_of().begin(), who.admin_of().end());
  caller.token = who.token();
  caller.scope = who.scope();
  caller.expires_at_ms = who.expires_at_ms();
  return caller;
}

void AskWho(Backend* backend, const Credentials& credentials,
            const std::function<void(const Status&, const v1::WhoAmIResponse&)>& told) {
  backend->Ask("ClientApi/WhoAmI", credentials, v1::WhoAmIRequest(), std::make_unique<v1::WhoAmIResponse>(), kPatience,
               [told](const Status& status, const std::unique_ptr<Message>& answer) {
                 told(status, status.ok() ? static_cast<const v1::WhoAmIResponse&>(*answer) : v1::WhoAmIResponse());
               });
}

bool IsAddress(std::string_view host) {
  return host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

void Api::Answer(const Asked& asked, HttpAnswer answer) {
  const bool text = answer.content_type.starts_with("text/") || answer.content_type.starts_with("application/j") ||
                    answer.content_type.starts_with("image/svg");
  if (answer.body && text && answer.body->size() >= kCompressedFrom) {
    answer.headers.emplace_back("Vary", "Accept-Encoding");
    const auto tag = std::find_if(answer.headers.begin(), answer.headers.end(),
                                  [](const auto& header) { return header.first == "ETag"; });
    if (tag != answer.headers.end() && AcceptsGzip(asked.request)) {
      if (auto packed = cache_.Of(tag->second, *answer.body)) {
        tag->second.insert(tag->second.size() - 1, kGzipMark);  // other bytes, another tag
        answer.headers.emplace_back("Content-Encoding", "gzip");
        answer.body = std::move(packed);
      }
    }
  }
  asked.exchange->Answer(std::move(answer));
}

// A page elsewhere whose name has come to mean this machine (DNS rebinding) is of this server's origin. Where nothing
// is proven, the name that it calls the server by gives it away.
Status Api::CheckHost(const HttpRequest& request) const {
  const std::string* const header = request.Header("host");
  if (options_.identity || header == nullptr) return Status::Ok();
  std::string host = *header;
  if (!host.starts_with('[')) host = host.substr(0, host.rfind(':'));
  const bool known = IsAddress(host) || host == "localhost" ||
                     std::find(options_.names.begin(), options_.names.end(), host) != options_.names.end();
  if (known) return Status::Ok();
  return Status(StatusCode::kPermissionDenied, "without identity the server answers to addresses and its own names")
      .WithReason("WRONG_HOST")
      .WithField("Host")
      .WithFix("use its address, or add the name to `names` in its configuration");
}

void Api::Handle(HttpRequest request, std::shared_ptr<Exchange> exchange) {
  auto asked = std::make_shared<Asked>();
  asked->request = std::move(request);
  asked->exchange = std::move(exchange);
  auto asker = WhoAsks(asked->request, options_.identity);
  Status status = asker.status();
  if (status.ok()) status = CheckHost(asked->request);
  if (status.ok()) {
    asked->asker = std::move(asker).value();
    const bool by_nobody = asked->asker.credentials.authorization.empty();
    if (by_nobody && ChangesSomething(asked->request.verb)) status = CheckSite(asked->request);
  }
  if (!status.ok()) return Answer(*asked, ErrorAnswer(status));
  Route(asked);
}

void Api::Route(const std::shared_ptr<Asked>& asked) {
  const HttpRequest& request = asked->request;
  if (request.path == kSession) {
    if (request.verb == "POST") return BeginSession(asked);
    if (request.verb == "GET") return ShowSession(asked);
    if (request.verb == "DELETE") return EndSession(asked);
    return Answer(*asked, VerbRefused(request, {"GET", "POST", "DELETE"}));
  }
  if (request.path == kStream && options_.streams != nullptr) {
    return request.verb == "GET" ? OpenStream(asked) : Answer(*asked, VerbRefused(request, {"GET"}));
  }
  if (request.path == kDescription) {  // no secret: anybody may
    const bool reads = request.verb == "GET" || request.verb == "HEAD";
    return Answer(*asked,
                  reads ? DocumentAnswer(request, std::string(OpenApiText())) : VerbRefused(request, {"GET", "HEAD"}));
  }
  const Match match = FindRoute(request.verb, request.path);
  if (match.route != nullptr) return CallRpc(asked, match);
  if (!match.verbs.empty()) return Answer(*asked, VerbRefused(request, match.verbs));
  if (request.path == "/v1" || request.path.starts_with("/v1/")) {
    return Answer(*asked, ErrorAnswer(404, "NO_SUCH_PATH", "there is no such path", "see docs/http.md"));
  }
  Pages(asked);
}

void Api::CallRpc(const std::shared_ptr<Asked>& asked, const Match& match) {
  const HttpRequest& request = asked->request;
  if (Status s = CheckForgery(request, asked->asker); !s.ok()) return Answer(*asked, ErrorAnswer(s));
  auto message = RequestMessage(match, request);
  if (!message.ok()) return Answer(*asked, ErrorAnswer(message.status()));
  const gateway::Route& route = *match.route;
  if (route.rpc->server_streaming()) {
    return RelayStream(backend_, route, asked->asker.credentials, **message, request.verb == "HEAD", asked->exchange,
                       executor_);
  }
  auto empty = NewMessage(route.rpc->output_type());
  if (const std::string* const mask = request.Query("fields")) {  // before anything is changed
    proto::Json nothing;
    if (Status s = ApplyMask(*mask, *empty, &nothing); !s.ok()) return Answer(*asked, ErrorAnswer(s));
  }
  backend_->Ask(route.method, asked->asker.credentials, **message, std::move(empty), kPatience,
                [this, asked](const Status& status, const std::unique_ptr<Message>& answer) {
                  if (!status.ok()) return Answer(*asked, ErrorAnswer(status));
                  proto::Json document = Document(*answer);
                  const std::string* const mask = asked->request.Query("fields");
                  if (mask != nullptr) (void)ApplyMask(*mask, *answer, &document);
                  Answer(*asked, DocumentAnswer(asked->request, DumpDocument(document)));
                });
}

// A code for a cookie. The answer has no token: a page's script never sees one.
void Api::BeginSession(const std::shared_ptr<Asked>& asked) {
  Status status = CheckSite(asked->request);
  v1::RedeemWebCodeRequest code;
  if (status.ok() && MediaType(asked->request) != "application/json") {
    status = Status(StatusCode::kUnimplemented, "the body is not JSON").WithReason("MEDIA_TYPE").WithFix("send it so");
  }
  if (status.ok()) status = proto::ReadMessageText(asked->request.body, &code);
  if (!status.ok()) return Answer(*asked, ErrorAnswer(status));
  Credentials who;
  who.peer = asked->request.peer;
  backend_->Ask("ClientApi/RedeemWebCode", who, code, std::make_unique<v1::RedeemWebCodeResponse>(), kPatience,
                [this, asked](const Status& redeemed, const std::unique_ptr<Message>& answer) {
                  if (!redeemed.ok()) return Answer(*asked, ErrorAnswer(redeemed));
                  const auto& session = static_cast<const v1::RedeemWebCodeResponse&>(*answer);
                  proto::Json document = Document(session);
                  document.erase("token");
                  document["csrf"] = CsrfTokenOf(session.token());
                  HttpAnswer shown = JsonAnswer(document);
                  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::system_clock::now().time_since_epoch());
                  const std::int64_t left = std::max<std::int64_t>(1, (session.expires_at_ms() - now.count()) / 1000);
                  shown.headers.emplace_back("Set-Cookie", SessionCookie(session.token(), left, asked->request.secure));
                  Answer(*asked, std::move(shown));
                });
}

void Api::ShowSession(const std::shared_ptr<Asked>& asked) {
  if (Status s = CheckForgery(asked->request, asked->asker); !s.ok()) return Answer(*asked, ErrorAnswer(s));
  AskWho(backend_, asked->asker.credentials, [this, asked](const Status& status, const v1::WhoAmIResponse& who) {
    if (!status.ok()) return Answer(*asked, ErrorAnswer(status));
    proto::Json document = Document(who);
    document["csrf"] = asked->asker.session.empty() ? "" : CsrfTokenOf(asked->asker.session);
    Answer(*asked, JsonAnswer(document));
  });
}

void Api::EndSession(const std::shared_ptr<Asked>& asked) {
  if (Status s = CheckForgery(asked->request, asked->asker); !s.ok()) return Answer(*asked, ErrorAnswer(s));
  const auto token = ParseToken(asked->asker.session);
  if (!token.ok()) {
    return Answer(*asked,
                  ErrorAnswer(401, "NO_SESSION", "the request came without a session", "nothing has to be ended"));
  }
  v1::RevokeTokenRequest revoke;
  revoke.set_id(token->id);
  backend_->Ask("AdminApi/RevokeToken", asked->asker.credentials, revoke, std::make_unique<v1::RevokeTokenResponse>(),
                kPatience, [this, asked](const Status& status, const std::unique_ptr<Message>& answer) {
                  HttpAnswer shown = status.ok() ? JsonAnswer(Document(*answer)) : ErrorAnswer(status);
                  shown.headers.emplace_back("Set-Cookie", SessionCookie("", 0, asked->request.secure));
                  Answer(*asked, std::move(shown));
                });
}

void Api::OpenStream(const std::shared_ptr<Asked>& asked) {
  if (Status s = CheckForgery(asked->request, asked->asker); !s.ok()) return Answer(*asked, ErrorAnswer(s));
  AskWho(backend_, asked->asker.credentials, [this, asked](const Status& status, const v1::WhoAmIResponse& who) {
    if (!status.ok()) return Answer(*asked, ErrorAnswer(status));
    StreamRequest request{asked->request.path, asked->request.query, {}, asked->request.peer};
    if (const std::string* const last = asked->request.Header("last-event-id")) request.last_event_id = *last;
    StreamCaller caller = CallerOf(who);
    caller.ask_again = [backend = backend_, credentials = asked->asker.credentials](
                           const std::function<void(const Status&, const StreamCaller&)>& told) {
      AskWho(backend, credentials, [told](const Status& s, const v1::WhoAmIResponse& now) { told(s, CallerOf(now)); });
    };
    caller.read_log = [backend = backend_, credentials = asked->asker.credentials](const v1::StreamLogRequest& log,
                                                                                   ReadStream::Told told) {
      return backend->Open("ClientApi/StreamLog", credentials, log, std::make_unique<v1::StreamLogResponse>(),
                           std::move(told));
    };
    HttpAnswer head;
    head.content_type = "text/event-stream";
    head.headers.emplace_back("X-Accel-Buffering", "no");
    const auto sink = std::make_shared<StreamSink>();
    if (const Status opened = options_.streams->Open(request, caller, sink); opened.ok()) {
      asked->exchange->Stream(std::move(head), sink);
    } else {
      sink->ConnectionClosed();
      Answer(*asked, ErrorAnswer(opened));
    }
  });
}

void Api::Pages(const std::shared_ptr<Asked>& asked) {
  const HttpRequest& request = asked->request;
  if (request.verb != "GET" && request.verb != "HEAD") return Answer(*asked, VerbRefused(request, {"GET", "HEAD"}));
  if (options_.files) return Answer(*asked, options_.files->Answer(request));
  if (request.path == "/") return Answer(*asked, TextAnswer(kWelcome));
  Answer(*asked, ErrorAnswer(404, "NO_SUCH_PATH", "there is no such path", "the API is below /v1: docs/http.md"));
}

}  // namespace glim::gateway
