// glim admin audit, and glim admin audit verify: who changed what, who was denied what, and whether all of it is there.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/text/render_json.h"
#include "cli/views/identity_view.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;

constexpr Duration kAuditDefault = Hours(24);

struct AuditOptions {
  std::optional<std::string> user;
  Duration since = kAuditDefault;
  bool verify = false;
};

Status RunAudit(CommandContext& context, const AuditOptions& options) {
  glim::v1::ListAuditRequest request;
  request.set_since_ms(std::max<std::int64_t>(0, Now().ms - options.since.ms));
  request.set_user(options.user.value_or(""));
  bool any = false;
  while (true) {
    const auto page = context.client.Call(&AdminApi::Stub::ListAudit, request);
    if (!page.ok()) return page.status();
    for (const auto& entry : page->entries()) {
      any = true;
      if (context.output.json()) {
        Json document = NewDocument();
        document.update(MessageJson(entry));
        context.output.Data(DumpJson(document));
      } else {
        context.output.Data(AuditLine(entry, context.output.colour()));
      }
      request.set_after(entry.seq());
    }
    if (!page->more() || page->entries_size() == 0) break;
  }
  if (!any) context.output.Note("nothing is noted of that time; --since 30d looks further back");
  return Status::Ok();
}

Status RunAuditVerify(CommandContext& context) {
  const auto response = context.client.Call(&AdminApi::Stub::VerifyAudit, glim::v1::VerifyAuditRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document.update(MessageJson(*response));
    context.output.Data(DumpJson(document));
  } else if (response->broken_at() == 0) {
    context.output.Data(
        fmt::format("{} entries, and the chain holds\nlast hash  {}\n", response->entries(), response->last_hash()));
    context.output.Note(
        "keep the number and the hash elsewhere: they show later that nothing at the end was taken away");
  }
  if (response->broken_at() == 0) return Status::Ok();
  return Status(StatusCode::kDataLoss,
                fmt::format("the audit trail does not fit at entry {}: {}", response->broken_at(), response->why()))
      .WithReason("AUDIT_BROKEN")
      .WithFix("somebody has written into the store beside the scheduler: compare it with a backup");
}

}  // namespace

void AddAdminAudit(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AuditOptions>();
  Syntax audit = admin.AddCommand("audit", "Who changed what, and who was denied what, oldest first");
  audit.Example("glim admin audit --since 7d --user kim");
  AddDurationOption(audit, "--since", &options->since, "not older than this (24h)");
  audit.Option("--user", &options->user, "only what this user did");
  Syntax verify = audit.AddCommand("verify", "Recompute the chain of hashes, and name the entry where it breaks");
  verify.Example("glim admin audit verify");
  verify.OnChosen([=] {
    options->verify = true;
    selection->run = RunAuditVerify;
  });
  audit.OnChosen([=] {
    if (options->verify) return;
    selection->run = [options](CommandContext& context) { return RunAudit(context, *options); };
  });
}

}  // namespace glim::cli
