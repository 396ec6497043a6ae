// glim whoami: who the scheduler takes this user for, by which token, and by which authority it is known.
#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/identity_view.h"

namespace glim::cli {
namespace {

Status RunWhoami(CommandContext& context) {
  const auto who = context.client.Call(&glim::v1::ClientApi::Stub::WhoAmI, glim::v1::WhoAmIRequest());
  if (!who.ok()) return who.status();
  const Result<Identity> identity = context.client.identity();
  if (!identity.ok()) return identity.status();
  if (!context.output.json()) {
    context.output.Data(WhoamiText(*who, context.client.server(), identity->fingerprint, Now()));
    return Status::Ok();
  }
  Json document = NewDocument();
  document.update(MessageJson(*who));
  document["server"] = context.client.server();
  document["ca_fingerprint"] = identity->fingerprint;
  document["token_file"] = identity->token_file;
  context.output.Data(DumpJson(document));
  return Status::Ok();
}

}  // namespace

void AddWhoami(Syntax app, Selection* selection) {
  Syntax command = app.AddCommand("whoami", "Show who you are to the scheduler, and until when");
  command.Example("glim whoami -o json");
  command.OnChosen([=] { selection->run = RunWhoami; });
}

}  // namespace glim::cli
