#include "cli/views/identity_view.h"

#include <string_view>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/style.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/duration_text.h"

namespace glim::cli {
namespace {

// "/glim.v1.ClientApi/Cancel" is "Cancel": no two services have a method of the same name.
std::string_view MethodWord(std::string_view method) {
  const std::size_t slash = method.rfind('/');
  return slash == std::string_view::npos ? method : method.substr(slash + 1);
}

}  // namespace

std::string EndText(std::int64_t expires_at_ms, TimePoint now) {
  if (expires_at_ms == 0) return "never ends";
  const TimePoint end{expires_at_ms};
  if (end <= now) return "ended " + FormatAgo(end, now);
  return "ends in " + RoundedDurationText(end - now);
}

std::string TokensTable(const glim::v1::ListTokensResponse& tokens, TimePoint now, bool colour) {
  Table table({{"TOKEN"},
               {"USER", false, 32},
               {"SCOPE"},
               {"FROM"},
               {"MADE BY", false, 32},
               {"LAST USED"},
               {"ENDS"},
               {"NOTE", false, 60}});
  for (const auto& token : tokens.tokens()) {
    const std::string note =
        token.job_id() == 0 ? token.note() : fmt::format("of job {} {}", token.job_id(), token.note());
    const std::string used = token.last_used_ms() == 0 ? "never" : FormatAgo({token.last_used_ms()}, now);
    table.AddRow({token.id(), token.user(), token.scope(), token.origin(), token.made_by(), used,
                  EndText(token.expires_at_ms(), now), note});
  }
  return table.Render(colour);
}

std::string SecretsTable(const glim::v1::ListSecretsResponse& secrets, TimePoint now, bool colour) {
  Table table({{"SECRET", false, 64}, {"BYTES", true}, {"CHANGED"}});
  for (const auto& secret : secrets.secrets()) {
    table.AddRow({secret.name(), std::to_string(secret.bytes()), FormatAgo({secret.changed_at_ms()}, now)});
  }
  return table.Render(colour);
}

std::string AuditLine(const glim::v1::AuditEntry& entry, bool colour) {
  const std::string who = entry.user().empty() ? "-" : entry.user();
  const std::string token = entry.token().empty() ? "" : fmt::format(" ({})", entry.token());
  const std::string peer = entry.peer().empty() ? "" : " from " + entry.peer();
  std::string change;
  if (!entry.before().empty() || !entry.after().empty()) {
    change = fmt::format(": {} -> {}", entry.before().empty() ? "nothing" : entry.before(),
                         entry.after().empty() ? "nothing" : entry.after());
  }
  const std::string object = entry.object().empty() ? "" : " " + entry.object();
  const std::string outcome =
      Tint(Escaped(entry.outcome()), entry.outcome() == "ok" ? Style::kGood : Style::kBad, colour);
  return fmt::format("{}  {}  {}  {}  {}\n", FormatRfc3339({entry.at_ms()}), entry.seq(), Escaped(who + token + peer),
                     Escaped(std::string(MethodWord(entry.method())) + object + change), outcome);
}

std::string WhoamiText(const glim::v1::WhoAmIResponse& who, const std::string& server, const std::string& fingerprint,
                       TimePoint now) {
  const auto words = [](const auto& list) {
    return list.empty() ? std::string("-") : fmt::format("{}", fmt::join(list, ", "));
  };
  std::string text = fmt::format("user        {}\nrole        {}\nteams       {}\n", Escaped(who.user()),
                                 Escaped(who.role()), Escaped(words(who.teams())));
  if (who.admin_of_size() > 0) text += fmt::format("admin of    {}\n", Escaped(words(who.admin_of())));
  if (!who.token().empty()) {
    text += fmt::format("token       {}, scope {}, {}\n", Escaped(who.token()), Escaped(who.scope()),
                        EndText(who.expires_at_ms(), now));
  }
  text += fmt::format("scheduler   {}\n", Escaped(server));
  text += fingerprint.empty() ? "authority   none: without identity, anybody is who they say they are\n"
                              : fmt::format("authority   {}\n", fingerprint);
  return text;
}

}  // namespace glim::cli
