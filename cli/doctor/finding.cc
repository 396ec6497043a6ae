#include "cli/doctor/finding.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sdk/base/check.h"

namespace glim::cli::doctor {

namespace {

// In the order in which they are told.
constexpr Check kChecks[] = {
    {Role::kClient, "configuration", "the configuration files and variables, and which server they name",
     "a file that cannot be read or understood stops every command"},
    {Role::kClient, "token-file", "the token's file: its mode, its owner, its form",
     "whoever reads the token acts in your name"},
    {Role::kClient, "resolve", "whether the server's name has an address", "without one nothing is sent"},
    {Role::kClient, "port", "whether the server's port takes a connection", "without one nothing is sent"},
    {Role::kClient, "tls", "whether the server speaks TLS and shows a certificate of the authority that is known",
     "the token goes to no other authority's server"},
    {Role::kClient, "certificate", "when the server's certificate ends", "after its end nobody connects"},
    {Role::kClient, "token", "whether the scheduler takes the token, and until when",
     "without a token that counts every call is refused"},
    {Role::kClient, "version", "the releases of this program and of the scheduler", "what one knows the other may not"},
    {Role::kClient, "clock", "whether this machine's clock is synchronised",
     "certificates and tokens begin and end by the clock"},
    {Role::kClient, "workdir", "whether this folder and the checkpoint root are what nodes see",
     "a job runs in its workdir, and archives of code go through the checkpoint root"},

    {Role::kNode, "configuration", "agent.yaml and agent.env, as the agent reads them",
     "an agent whose options are wrong does not start"},
    {Role::kNode, "enrolment", "the node's certificate: there, private, of its authority, in time",
     "without it the scheduler refuses the node"},
    {Role::kNode, "scheduler", "whether the scheduler's port for agents takes a connection",
     "a node that cannot reach it is silent, then lost"},
    {Role::kNode, "ports", "whether the agent's ports are free, or its own",
     "a port that another program has is not served"},
    {Role::kNode, "clock", "whether the clock is synchronised", "a node a day behind is refused"},
    {Role::kNode, "kernel", "whether the kernel is new enough for containers",
     "tasks' mounts are made by descriptor: Linux 5.12 or newer"},
    {Role::kNode, "cgroups", "which control groups there are, and their controllers",
     "a task's limits, and its end, go by its control group"},
    {Role::kNode, "runtime", "whether runc or crun works, and its version", "jobs run in containers of it"},
    {Role::kNode, "user-namespaces", "whether the kernel gives user namespaces",
     "without them root in a container is root's id of the node"},
    {Role::kNode, "seccomp", "whether the kernel filters system calls", "containers are held by such a filter"},
    {Role::kNode, "programs",
     "glim-shim, glim-health, glim-image, glim-init, glim-inventory, glim-paths, glim-unpack, glim-task and the SDK",
     "tasks, and the look after the hardware, need them in one folder"},
    {Role::kNode, "memlock", "how much memory the agent's tasks may lock",
     "memory that is registered with a network card is locked"},
    {Role::kNode, "descriptors", "how many files the agent may have open",
     "tasks get no more than the agent's hard limit"},
    {Role::kNode, "network", "InfiniBand's and Ethernet's ports: state and speed",
     "gradients and saves go as fast as the port"},
    {Role::kNode, "shm", "/dev/shm: there, and its room", "ranks of plain processes share memory there"},
    {Role::kNode, "checkpoint-root", "the folders that jobs may name, and whether a user's file there is the user's",
     "saves that other nodes cannot see are lost with the node"},
    {Role::kNode, "disk", "room and inodes of the state folder and of /tmp",
     "a node whose disk is full starts nothing"},
    {Role::kNode, "memory", "memory that is free, beside what the node reserves",
     "tasks are held to the node's memory less the reserve"},
    {Role::kNode, "accounts", "the accounts that the agent and its services name",
     "a user that is not there runs nothing"},
    {Role::kNode, "units", "systemd's units of the node", "what is not running or not enabled is gone after a boot"},

    {Role::kServer, "configuration", "scheduler.yaml and its policy, as the scheduler reads them",
     "a scheduler whose configuration is wrong does not start"},
    {Role::kServer, "store", "SQLite's file and folder, or whether PostgreSQL answers",
     "what is acknowledged must be durable"},
    {Role::kServer, "key-file", "the key file: its mode, its owner, and where it lies",
     "who has the store and the key file has the authority"},
    {Role::kServer, "ports", "whether the scheduler's ports are free, or its own",
     "a scheduler whose port is taken does not start"},
    {Role::kServer, "certificate", "what the users' port shows: TLS, and until when", "after its end nobody connects"},
    {Role::kServer, "metrics", "whether the metrics are served", "without them no alert fires"},
    {Role::kServer, "clock", "whether the clock is synchronised", "certificates and tokens are given by it"},
    {Role::kServer, "descriptors", "how many connections the scheduler may have open",
     "each agent and each user is a connection"},
    {Role::kServer, "disk", "room and inodes of the store's folder", "while it is full nothing can be changed"},
    {Role::kServer, "units", "systemd's unit of the scheduler",
     "what is not running or not enabled is gone after a boot"},
};

}  // namespace

const std::vector<Check>& AllChecks() {
  static const std::vector<Check> checks(std::begin(kChecks), std::end(kChecks));
  return checks;
}

const Check& CheckNamed(Role role, std::string_view name) {
  const auto& all = AllChecks();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Check& check) { return check.role == role && check.name == name; });
  GLIM_CHECK(found != all.end(), "a check that is run is in the table");
  return *found;
}

const char* WordOf(Role role) {
  switch (role) {
    case Role::kClient: return "client";
    case Role::kNode: return "node";
    case Role::kServer: return "server";
  }
  return "";
}

const char* WordOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFault: return "fault";
    case Verdict::kWarning: return "warning";
    case Verdict::kSkipped: return "skipped";
    case Verdict::kOk: return "ok";
  }
  return "";
}

std::optional<Role> RoleOf(std::string_view word) {
  for (const Role role : {Role::kClient, Role::kNode, Role::kServer}) {
    if (word == WordOf(role)) return role;
  }
  return std::nullopt;
}

std::vector<Finding> InOrder(std::vector<Finding> findings) {
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::pair(a.outcome.verdict, a.check) < std::pair(b.outcome.verdict, b.check);
  });
  return findings;
}

int CountOf(const std::vector<Finding>& findings, Verdict verdict) {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                        [&](const Finding& finding) { return finding.outcome.verdict == verdict; }));
}

}  // namespace glim::cli::doctor
