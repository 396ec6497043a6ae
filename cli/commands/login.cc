// glim login: gets a token and keeps it. The first login to a scheduler also settles by which authority it is known:
// nothing is sent before that has been verified.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/login/ask_secret.h"
#include "cli/login/device_flow.h"
#include "cli/login/login_socket.h"
#include "cli/rpc/login_file.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/views/identity_view.h"
#include "sdk/https/https.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/tls_probe.h"
#include "sdk/pki/verify.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::cli {
namespace {

constexpr Duration kLoginPatience = Seconds(30);
constexpr std::size_t kTokenBytesMax = 1024;

struct LoginOptions {
  std::string socket;
  std::string fingerprint;
  bool token = false;
  bool oidc = false;
  bool web = false;
};

// What is known so far.
struct LoginDraft {
  Settings settings;
  Identity identity;
  bool lent = false;
};

Result<Identity> PinnedBy(const std::string& fingerprint, const std::string& server) {
  const Result<std::vector<pki::Certificate>> shown = pki::ProbeTls(server, kLoginPatience);
  if (!shown.ok()) return shown.status();
  const Result<pki::Certificate> authority = pki::FindAuthority(*shown, fingerprint);
  if (!authority.ok()) return authority.status();
  Identity identity;
  identity.authorities = authority->Pem();
  identity.fingerprint = authority->fingerprint();
  return identity;
}

Status KnowAuthority(const LoginOptions& options, LoginDraft* draft) {
  Result<Identity> known = options.fingerprint.empty() ? FindAuthority(draft->settings, OperatorFolders())
                                                       : PinnedBy(options.fingerprint, draft->settings.server);
  if (!known.ok()) return known.status();
  draft->identity = *std::move(known);
  return Status::Ok();
}

Status BySocket(const LoginOptions& options, LoginDraft* draft) {
  Result<SocketLogin> answer = AskLoginSocket(options.socket, kLoginPatience);
  if (!answer.ok()) return answer.status();
  if (!draft->settings.server_named && !answer->server.empty()) draft->settings.server = answer->server;
  // The agent of this host knows the authority; what the user says counts more.
  const bool said = !draft->settings.ca.empty() || !options.fingerprint.empty() || answer->authorities.empty();
  if (said) {
    if (Status known = KnowAuthority(options, draft); !known.ok()) return known;
  } else {
    const Result<std::vector<pki::Certificate>> told = pki::ReadCertificates(answer->authorities);
    if (!told.ok()) return told.status();
    draft->identity.authorities = answer->authorities;
    draft->identity.fingerprint = told->front().fingerprint();
  }
  draft->identity.token = answer->token;
  return Status::Ok();
}

Status ByIssuer(CommandContext& context, LoginDraft* draft) {
  Client client(draft->settings, draft->identity, &context.interruption);
  const auto told = client.Call(&glim::v1::ClientApi::Stub::GetLogin, glim::v1::GetLoginRequest());
  if (!told.ok()) return told.status();
  if (told->oidc_issuer().empty()) {
    return Status(StatusCode::kFailedPrecondition, "this cluster has no OpenID Connect issuer")
        .WithReason("NO_ISSUER")
        .WithFix("'glim login' on a host for logins, or 'glim login --token'");
  }
  DeviceFlow flow;
  flow.issuer = told->oidc_issuer();
  flow.client = told->oidc_client();
  flow.show = [&context](const std::string& address, const std::string& code) {
    // Also with JSON: nobody could log in without it.
    std::fprintf(stderr, "open %s in a browser, and type the code %s\n", Escaped(address).c_str(),
                 Escaped(code).c_str());
    std::fflush(stderr);
    context.output.Note("waiting until that is done");
  };
  flow.pause = [&context](Duration duration) { return context.interruption.WaitFor(duration); };
  https::CurlClient http;
  Result<std::string> id_token = LoginAtIssuer(http, flow);
  if (!id_token.ok()) return id_token.status();
  glim::v1::LoginOidcRequest request;
  request.set_id_token(*id_token);
  const auto answer = client.Call(&glim::v1::ClientApi::Stub::LoginOidc, request);
  if (!answer.ok()) return answer.status();
  draft->identity.token = answer->token();
  return Status::Ok();
}

Status ByPaste(LoginDraft* draft) {
  Result<std::string> text = ReadSecret("token", kTokenBytesMax);
  if (!text.ok()) return text.status();
  draft->identity.token = Trimmed(*text);
  if (Result<OpaqueToken> token = ParseToken(draft->identity.token); !token.ok()) return token.status();
  return Status::Ok();
}

Status ReportLogin(CommandContext& context, const LoginDraft& draft, const glim::v1::WhoAmIResponse& who) {
  if (context.output.json()) {
    Json document = NewDocument();
    document.update(MessageJson(who));
    document["server"] = draft.settings.server;
    document["ca_fingerprint"] = draft.identity.fingerprint;
    document["file"] = draft.settings.login_file;
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Note(fmt::format("logged in to {} as {} ({}); the token {}", draft.settings.server, who.user(),
                                  who.role(), EndText(who.expires_at_ms(), Now())));
  if (!draft.settings.token_file.empty()) {
    context.output.Note(fmt::format("--token-file, GLIM_TOKEN_FILE or the configuration name {}, which counts more",
                                    draft.settings.token_file));
  }
  return Status::Ok();
}

// A browser's session for who has a token here: an address whose code counts once, and no token.
Status OpenWeb(CommandContext& context) {
  const auto made = context.client.Call(&glim::v1::ClientApi::Stub::CreateWebCode, glim::v1::CreateWebCodeRequest());
  if (!made.ok()) return made.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["url"] = made->url();
    document["expires_at_ms"] = made->expires_at_ms();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  context.output.Data(Escaped(made->url()) + "\n");
  context.output.Note("open it in your browser: it counts once, for a minute");
  return Status::Ok();
}

Status RunLogin(CommandContext& context, LoginOptions options) {
  LoginDraft draft{context.client.settings(), {}, false};
  const int ways =
      (options.socket.empty() ? 0 : 1) + (options.token ? 1 : 0) + (options.oidc ? 1 : 0) + (options.web ? 1 : 0);
  if (ways > 1) return UsageError("--socket, --token, --oidc and --web are ways of their own", "use one of them");
  if (options.web) return OpenWeb(context);
  if (draft.settings.insecure) {
    return UsageError("a scheduler without identity has no logins", "leave out insecure_without_identity");
  }
  if (ways == 0) options.socket = kLoginSocket;
  Status got;
  if (!options.socket.empty()) {
    got = BySocket(options, &draft);
  } else if (got = KnowAuthority(options, &draft); got.ok()) {
    got = options.oidc ? ByIssuer(context, &draft) : ByPaste(&draft);
  }
  if (!got.ok()) return got;
  Client client(draft.settings, draft.identity, &context.interruption);
  const auto who = client.Call(&glim::v1::ClientApi::Stub::WhoAmI, glim::v1::WhoAmIRequest());
  if (!who.ok()) return who.status();
  const Login login{draft.settings.server, draft.identity.fingerprint, draft.identity.authorities, draft.identity.token,
                    !options.token};
  if (Status kept = WriteLogin(draft.settings.login_file, login); !kept.ok()) return kept;
  return ReportLogin(context, draft, *who);
}

}  // namespace

void AddLogin(Syntax app, Selection* selection) {
  const auto options = std::make_shared<LoginOptions>();
  Syntax command = app.AddCommand("login", "Get a token, and keep it for the next commands");
  command.Example("glim login --server glim.example:7601 --ca ca.pem");
  command.Option("--socket", &options->socket,
                 fmt::format("ask the agent of this host, a host for logins ({})", kLoginSocket));
  command.Flag("--token", &options->token, "a token that somebody made for you, read from standard input");
  command.Flag("--oidc", &options->oidc, "at the cluster's OpenID Connect issuer, in any browser");
  command.Flag("--web", &options->web, "with the token that you have: an address that opens the dashboard as you");
  command.Option("--ca-fingerprint", &options->fingerprint,
                 "SHA-256 of the authority that the scheduler must show; instead of --ca, at the first login");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunLogin(context, *options); }; });
}

}  // namespace glim::cli
