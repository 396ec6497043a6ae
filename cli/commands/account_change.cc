#include "cli/commands/account_change.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/text/render_json.h"
#include "cli/text/text.h"

namespace glim::cli {
namespace {

Status RunAccountList(CommandContext& context, const char* key, const char* none, AccountsTable table) {
  const auto response = context.client.Call(&glim::v1::AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    const Json all = MessageJson(*response);
    Json document = NewDocument();
    document[key] = all.contains(key) ? all[key] : Json::array();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  const int rows = std::string_view(key) == "users"   ? response->users_size()
                   : std::string_view(key) == "teams" ? response->teams_size()
                                                      : response->quotas_size();
  if (rows == 0) {
    context.output.Note(none);
  } else {
    context.output.Data(table(*response, context.output.colour()));
  }
  return Status::Ok();
}

}  // namespace

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string ReadWhole(const std::string& word, std::int64_t low, std::int64_t high, std::int64_t* number) {
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, *number);
  if (error == std::errc() && rest == end && *number >= low && *number <= high) return "";
  return fmt::format("'{}' is no whole number from {} to {}", Shown(word), low, high);
}

Status RunAccountChange(CommandContext& context, const glim::v1::ChangeAccountRequest& request,
                        const std::string& done) {
  const auto response = context.client.Call(&glim::v1::AdminApi::Stub::ChangeAccount, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["done"] = done;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(done);
  }
  return Status::Ok();
}

void AddAccountList(Syntax group, Selection* selection, const char* key, const char* none, const char* help,
                    AccountsTable table) {
  Syntax command = group.AddCommand("ls", help);
  command.Alias("list");
  const std::string kind(key, std::strlen(key) - 1);  // "teams" are what "team ls" lists
  command.Example("glim admin " + kind + " ls");
  command.OnChosen(
      [=] { selection->run = [=](CommandContext& context) { return RunAccountList(context, key, none, table); }; });
}

}  // namespace glim::cli
