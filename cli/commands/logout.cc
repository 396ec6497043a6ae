// glim logout: ends the token that 'glim login' got, and forgets it. One that was pasted is only forgotten: it may be
// in use elsewhere.
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/rpc/login_file.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

Status RevokeLent(CommandContext& context, const Login& login) {
  Identity identity;
  identity.authorities = login.authority;
  identity.token = login.token;
  Settings settings = context.client.settings();
  settings.server = login.server;
  Client client(settings, identity, &context.interruption);
  const auto who = client.Call(&glim::v1::ClientApi::Stub::WhoAmI, glim::v1::WhoAmIRequest());
  if (!who.ok()) return who.status();
  glim::v1::RevokeTokenRequest request;
  request.set_id(who->token());
  return client.Call(&glim::v1::AdminApi::Stub::RevokeToken, request).status();
}

Status RunLogout(CommandContext& context) {
  const std::string& path = context.client.settings().login_file;
  const Result<Login> login = ReadLogin(path);
  if (login.status().code() == StatusCode::kNotFound) {
    context.output.Note("you were not logged in");
    return Status::Ok();
  }
  Status revoked;
  if (login.ok() && login->lent) revoked = RevokeLent(context, *login);
  // A token that counts no more is what is wanted.
  const bool dead = revoked.code() == StatusCode::kUnauthenticated && revoked.reason() != "WRONG_AUTHORITY";
  if (Status removed = RemoveLogin(path); !removed.ok()) return removed;
  if (!revoked.ok() && !dead) {
    return Status(revoked.code(), fmt::format("the token is forgotten here, but not revoked: {}", revoked.message()))
        .WithReason(revoked.reason())
        .WithFix("it counts until it ends; an operator can revoke it ('glim admin token revoke --all-of USER')");
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["revoked"] = login.ok() && login->lent;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(login.ok() && login->lent ? "logged out: the token counts no more"
                                                  : "logged out: the token is forgotten here");
  }
  return Status::Ok();
}

}  // namespace

void AddLogout(Syntax app, Selection* selection) {
  Syntax command = app.AddCommand("logout", "End the token that 'glim login' got, and forget it");
  command.Example("glim logout");
  command.OnChosen([=] { selection->run = RunLogout; });
}

}  // namespace glim::cli
