// glim admin token create, list and revoke: of the caller, or for an operator of anybody.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/commands/asked_change.h"
#include "cli/text/errors.h"
#include "cli/text/text.h"
#include "cli/views/identity_view.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;

struct TokenOptions {
  std::string user;
  std::string scope = "all";
  Duration ttl;
  std::string note;
  std::string id;
  std::string all_of;
  bool all = false;
  ChangeOptions change;
};
using TokenOptionsPtr = std::shared_ptr<TokenOptions>;

Status RunTokenCreate(CommandContext& context, const TokenOptions& options) {
  glim::v1::CreateTokenRequest request;
  request.set_user(options.user);
  request.set_scope(options.scope);
  request.set_ttl_ms(options.ttl.ms);
  request.set_note(options.note);
  const auto response = context.client.Call(&AdminApi::Stub::CreateToken, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["token"] = response->token();
    document["row"] = MessageJson(response->row());
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  const glim::v1::Token& row = response->row();
  context.output.Data(response->token() + "\n");
  context.output.Note(fmt::format("token {} of {}, scope {}, {}; it is shown this once", row.id(), row.user(),
                                  row.scope(), EndText(row.expires_at_ms(), Now())));
  return Status::Ok();
}

Status RunTokenList(CommandContext& context, const TokenOptions& options) {
  glim::v1::ListTokensRequest request;
  request.set_user(options.user);
  request.set_all(options.all);
  const auto response = context.client.Call(&AdminApi::Stub::ListTokens, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["tokens"] = MessageJson(*response)["tokens"];
    context.output.Data(DumpJson(document));
  } else if (response->tokens_size() == 0) {
    context.output.Note("there are no tokens");
  } else {
    context.output.Data(TokensTable(*response, Now(), context.output.colour()));
  }
  return Status::Ok();
}

// Those that a revocation would end, as they are listed now. One's own are looked at before everybody's, which an
// operator alone may see.
Result<std::string> TokensThatEnd(CommandContext& context, const TokenOptions& options) {
  glim::v1::ListTokensRequest request;
  request.set_user(options.all_of);
  auto list = context.client.Call(&AdminApi::Stub::ListTokens, request);
  if (!list.ok()) return list.status();
  const auto another = [&](const glim::v1::Token& token) { return token.id() != options.id; };
  const auto keep_one = [&] {
    auto* const rows = list->mutable_tokens();
    rows->erase(std::remove_if(rows->begin(), rows->end(), another), rows->end());
  };
  if (options.all_of.empty()) {
    keep_one();
    if (list->tokens().empty()) {
      request.set_all(true);
      list = context.client.Call(&AdminApi::Stub::ListTokens, request);
      // As the scheduler says it: others' ids are told to nobody.
      if (list.status().code() == StatusCode::kPermissionDenied) list = glim::v1::ListTokensResponse();
      if (!list.ok()) return list.status();
      keep_one();
    }
  }
  if (list->tokens_size() > 0) return TokensTable(*list, Now(), context.output.colour()) + "they count no more\n";
  if (!options.all_of.empty()) return fmt::format("user {} has no token\n", Escaped(options.all_of));
  return Status(StatusCode::kNotFound, fmt::format("no token {}", options.id))
      .WithReason("NO_SUCH_TOKEN")
      .WithField("ID")
      .WithFix("'glim admin token list --all' shows their ids");
}

Status RunTokenRevoke(CommandContext& context, const TokenOptions& options) {
  if (options.id.empty() == options.all_of.empty()) {
    return UsageError("name one token, or --all-of USER", "'glim admin token list --all' shows their ids");
  }
  AskedChange change;
  change.in_words = [&] { return TokensThatEnd(context, options); };
  change.question = options.id.empty() ? fmt::format("end all tokens of user {}?", options.all_of)
                                       : fmt::format("end token {}?", options.id);
  change.make = [&](Json* document) {
    glim::v1::RevokeTokenRequest request;
    request.set_id(options.id);
    request.set_all_of_user(options.all_of);
    const auto response = context.client.Call(&AdminApi::Stub::RevokeToken, request);
    if (!response.ok()) return response.status();
    (*document)["revoked"] = response->revoked();
    context.output.Note(
        fmt::format("{} {} no more", response->revoked(), response->revoked() == 1 ? "token counts" : "tokens count"));
    return Status::Ok();
  };
  return MakeAfterAsking(context, options.change, change);
}

using TokenRun = Status (*)(CommandContext&, const TokenOptions&);

Syntax AddTokenCommand(Syntax token, Selection* selection, const TokenOptionsPtr& options, const char* name,
                       const char* help, TokenRun run) {
  Syntax command = token.AddCommand(name, help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return run(context, *options); }; });
  return command;
}

std::string CheckScope(const std::string& word) {
  const bool known = word == "read" || word == "submit" || word == "all";
  return known ? "" : fmt::format("'{}' is no scope: use read, submit or all", word);
}

}  // namespace

void AddAdminToken(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<TokenOptions>();
  Syntax token = admin.AddGroup("token", "Tokens: who acts in whose name, how far and how long");
  Syntax create =
      AddTokenCommand(token, selection, options, "create", "Make a token, and print it this once", RunTokenCreate);
  create.Example("glim admin token create --user kim --scope submit --ttl 30d");
  create.Option("--user", &options->user, "whose (yours)");
  create.CheckedOption("--scope", &options->scope, "read, submit or all (all)", CheckScope);
  AddDurationOption(create, "--ttl", &options->ttl, "how long it counts (90d)");
  create.Option("--note", &options->note, "what it is for");
  Syntax list =
      AddTokenCommand(token, selection, options, "list", "List tokens: ids and uses, not the tokens", RunTokenList);
  list.Example("glim admin token list --all");
  list.Option("--user", &options->user, "whose (yours)");
  list.Flag("--all", &options->all, "everybody's");
  Syntax revoke = AddTokenCommand(token, selection, options, "revoke", "End a token at once", RunTokenRevoke);
  revoke.Example("glim admin token revoke --all-of kim");
  revoke.Option("ID", &options->id, "its id, as 'list' shows it");
  revoke.Option("--all-of", &options->all_of, "all tokens of this user instead");
  AddAskOptions(revoke, &options->change);
}

}  // namespace glim::cli
