// glim secret set, list and rm: values that a user's own tasks find in a file, and nobody is shown.
#include <memory>

#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/login/ask_secret.h"
#include "cli/text/render_json.h"
#include "cli/views/identity_view.h"

namespace glim::cli {
namespace {

constexpr std::size_t kSecretValueMax = 1 << 16;

Status RunSecretSet(CommandContext& context, const std::string& name) {
  Result<std::string> value = ReadSecret(fmt::format("value of {}", name), kSecretValueMax);
  if (!value.ok()) return value.status();
  glim::v1::SetSecretRequest request;
  request.set_name(name);
  request.set_value(*std::move(value));
  const auto response = context.client.Call(&glim::v1::ClientApi::Stub::SetSecret, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["name"] = name;
    document["bytes"] = request.value().size();
    document["replaced"] = response->replaced();
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("secret {}: {} bytes{}", name, request.value().size(),
                                    response->replaced() ? ", in place of what it was" : ""));
  }
  return Status::Ok();
}

Status RunSecretList(CommandContext& context) {
  const auto response = context.client.Call(&glim::v1::ClientApi::Stub::ListSecrets, glim::v1::ListSecretsRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["secrets"] = MessageJson(*response)["secrets"];
    context.output.Data(DumpJson(document));
  } else if (response->secrets_size() == 0) {
    context.output.Note("you have no secrets: 'glim secret set NAME' makes one");
  } else {
    context.output.Data(SecretsTable(*response, Now(), context.output.colour()));
  }
  return Status::Ok();
}

Status RunSecretRemove(CommandContext& context, const std::string& name) {
  glim::v1::RemoveSecretRequest request;
  request.set_name(name);
  const auto response = context.client.Call(&glim::v1::ClientApi::Stub::RemoveSecret, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["name"] = name;
    document["removed"] = true;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("secret {} is removed; tasks that run keep what they were given", name));
  }
  return Status::Ok();
}

}  // namespace

void AddSecret(Syntax app, Selection* selection) {
  const auto name = std::make_shared<std::string>();
  Syntax secret = app.AddGroup("secret", "Values that your own tasks find in a file ('secrets' of a job's spec)");
  Syntax set = secret.AddCommand("set", "Keep a value, read from standard input as it is, 64 KiB at most");
  set.Example("glim secret set wandb-key < key");
  set.Option("NAME", name.get(), "what jobs name it by", Presence::kRequired);
  set.OnChosen([=] { selection->run = [name](CommandContext& context) { return RunSecretSet(context, *name); }; });
  Syntax list = secret.AddCommand("list", "List your secrets: names, not values");
  list.Example("glim secret list");
  list.OnChosen([=] { selection->run = RunSecretList; });
  Syntax remove = secret.AddCommand("rm", "Remove a secret");
  remove.Example("glim secret rm wandb-key");
  remove.Alias("remove");
  remove.Option("NAME", name.get(), "its name", Presence::kRequired);
  remove.OnChosen(
      [=] { selection->run = [name](CommandContext& context) { return RunSecretRemove(context, *name); }; });
}

}  // namespace glim::cli
