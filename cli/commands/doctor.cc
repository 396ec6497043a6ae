// glim doctor: what is wrong with this machine for Glim, and how to mend it. It changes nothing.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "cli/doctor/client_checks.h"
#include "cli/doctor/doctor_view.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/look.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/node_looks.h"
#include "cli/doctor/roles.h"
#include "cli/doctor/server_checks.h"
#include "cli/rpc/config.h"
#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

// With what asking both daemons' settings takes before that, less than 10 s whatever hangs.
constexpr Duration kLooksMax = Seconds(6);

struct DoctorOptions {
  std::optional<doctor::Role> role;
  std::string config;
  std::string checkpoint_root;
};

std::vector<doctor::Role> RolesOf(const DoctorOptions& options) {
  return options.role ? std::vector<doctor::Role>{*options.role} : doctor::FindRoles(doctor::Machine());
}

// The file that was named, where it is a client's: that of no daemon.
std::string ConfigOfClient(const DoctorOptions& options) {
  const std::vector<doctor::Role> roles = RolesOf(options);
  const bool client = roles.size() == 1 && roles.front() == doctor::Role::kClient;
  return client ? options.config : "";
}

doctor::ClientFacts ClientFactsOf(const CommandContext& context, const DoctorOptions& options) {
  doctor::ClientFacts facts{context.configuration, context.client.settings(), {}, context.warnings};
  ConfigPaths paths = DefaultConfigPaths();
  if (!ConfigOfClient(options).empty()) paths.user = options.config;
  for (const std::string& path : {paths.local, paths.user, paths.login, paths.system}) {
    if (!path.empty() && ::access(path.c_str(), F_OK) == 0) facts.files.push_back(path);
  }
  return facts;
}

void AddLooks(doctor::Role role, const CommandContext& context, const DoctorOptions& options,
              std::vector<doctor::Look>* looks) {
  std::vector<doctor::Look> more;
  switch (role) {
    case doctor::Role::kClient:
      more = doctor::ClientLooks(ClientFactsOf(context, options), &context.interruption);
      break;
    case doctor::Role::kNode:
      more = doctor::NodeLooks(doctor::AskAgentSettings(doctor::Machine(), options.config), options.checkpoint_root);
      break;
    case doctor::Role::kServer:
      more = doctor::ServerLooks(doctor::AskSchedulerSettings(doctor::Machine(), options.config));
      break;
  }
  looks->insert(looks->end(), more.begin(), more.end());
}

Status RunDoctor(CommandContext& context, const DoctorOptions& options) {
  const std::vector<doctor::Role> roles = RolesOf(options);
  std::vector<doctor::Look> looks;
  for (const doctor::Role role : roles) AddLooks(role, context, options, &looks);
  const auto findings = doctor::InOrder(doctor::RunLooks(looks, kLooksMax));
  if (context.interruption.raised()) return Interruption::Cancelled();
  if (context.output.json()) {
    context.output.Data(DumpJson(doctor::FindingsJson(roles, findings)));
  } else {
    context.output.Data(doctor::FindingsText(findings, context.output.colour()));
  }
  if (doctor::CountOf(findings, doctor::Verdict::kFault) == 0) return Status::Ok();
  return Status(StatusCode::kUnknown, doctor::SummaryText(findings)).WithReason("FAULTS_FOUND");
}

std::string CheckRole(const std::string& word, DoctorOptions* options) {
  options->role = doctor::RoleOf(word);
  return options->role ? "" : "is none of client, node and server";
}

}  // namespace

void AddDoctor(Syntax app, Selection* selection) {
  const auto options = std::make_shared<DoctorOptions>();
  Syntax command = app.AddCommand("doctor", "Say what is wrong with this machine for Glim, and how to mend it");
  command.ParsedOption("ROLE", "client, node or server (what this machine is: its units, /etc/glim; else client)",
                       [options](const std::string& word) { return CheckRole(word, options.get()); });
  command.Option("--config", &options->config,
                 "the configuration file (/etc/glim/agent.yaml, /etc/glim/scheduler.yaml, ~/.config/glim/config.yaml)");
  command.Option("--checkpoint-root", &options->checkpoint_root,
                 "of node: the folder that all nodes share (found by its marker in mount_allow)");
  command.Example("glim doctor node -o json");
  command.OnChosen([=] {
    selection->bears_bad_settings = true;
    selection->config = ConfigOfClient(*options);
    selection->run = [options](CommandContext& context) { return RunDoctor(context, *options); };
  });
}

}  // namespace glim::cli
