#include <fmt/format.h>

#include "cli/text/gpus.h"
#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/text/words.h"
#include "cli/views/hardware_view.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr const char* kBestEffort = "best_effort";

std::string RefText(const glim::v1::AttemptRef& ref) {
  return ref.job_id() == 0 ? "-" : fmt::format("{}.{}", ref.job_id(), ref.number());
}

// What its agent says of it and does not hold yet: "pool h100, zone B"; only what is another.
std::string LabelsThatWait(const glim::v1::Node& node) {
  if (!node.has_next_labels()) return "";
  const auto& now = node.labels();
  const auto& next = node.next_labels();
  std::string text;
  const auto add = [&text](const char* label, const std::string& before, const std::string& after) {
    if (before == after) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, after.empty() ? "none" : after);
  };
  add("pool", now.pool(), next.pool());
  add("zone", now.zone(), next.zone());
  add("leaf", now.leaf(), next.leaf());
  add("gpus", GpuText(now.gpu_count(), now.simulated_gpus()), GpuText(next.gpu_count(), next.simulated_gpus()));
  add("type", now.gpu_type(), next.gpu_type());
  add("nvlink", now.nvlink(), next.nvlink());
  add("nic", now.nic(), next.nic());
  return text;
}

// A node that looks free and is given to nobody.
std::string SuspectText(const glim::v1::Node& node, TimePoint now) {
  const TimePoint until{node.suspect_until_ms()};
  if (until <= now) return "";
  const std::string why = node.suspect_why().empty() ? "" : ": " + node.suspect_why();
  return fmt::format("suspect until {}, used only where nothing else fits{}", FormatRfc3339(until), why);
}

constexpr const char* kBecause[][2] = {
    {"join", "joins"}, {"repair", "repaired"}, {"asked", "an operator asked"}, {"suspicion", "a job stood still"}};

// Why, and who measures it or when: "joins: waits to be measured, by job 17". Empty: it is not to be measured.
std::string ToBeMeasuredText(const glim::v1::Node& node, TimePoint now) {
  const glim::v1::NodeValidation& validation = node.validation();
  if (validation.need().empty()) return validation.job_id() > 0 ? fmt::format("job {}", validation.job_id()) : "";
  std::string text = fmt::format("overdue since {}", FormatAgo({validation.since_ms()}, now));
  for (const auto& [need, because] : kBecause) {
    if (validation.need() == need) text = fmt::format("{}: waits to be measured", because);
  }
  if (validation.job_id() > 0) return text + fmt::format(", by job {}", validation.job_id());
  const TimePoint again{validation.again_at_ms()};
  return again > now ? text + fmt::format(", at {}", FormatRfc3339(again)) : text;
}

// "good 3d ago", "bad: cpu piece cpu3 ..."; and whether it is to be measured.
std::string MeasuredText(const glim::v1::Node& node, TimePoint now) {
  const glim::v1::NodeValidation& validation = node.validation();
  std::string text = validation.bad().empty() ? "" : "bad: " + validation.bad();
  const auto add = [&text](const std::string& words) {
    if (!words.empty()) text += (text.empty() ? "" : "; ") + words;
  };
  if (validation.good_at_ms() > 0) add(fmt::format("good {}", FormatAgo({validation.good_at_ms()}, now)));
  add(ToBeMeasuredText(node, now));
  return text;
}

// Whose jobs run there; empty: everybody's.
std::string UsersText(const glim::v1::Node& node) {
  if (node.has_only_uid()) return fmt::format("runs jobs of uid {} alone", node.only_uid());
  return node.needs_uid() ? "runs no job of a user without a uid" : "";
}

std::string NodeNote(const glim::v1::Node& node, TimePoint now) {
  std::string note = node.message();
  for (const std::string& words : node.reserved()) note += fmt::format("{}{}", note.empty() ? "" : "; ", words);
  if (const std::string suspect = SuspectText(node, now); !suspect.empty()) {
    note += (note.empty() ? "" : "; ") + suspect;
  }
  if (const std::string lemon = LemonText(node); !lemon.empty()) {
    note += fmt::format("{}{}", note.empty() ? "" : "; ", lemon);
  }
  // Who is overdue takes jobs as before.
  if (node.validation().need() == "suspicion" || WaitsToBeMeasured(node)) {
    note += (note.empty() ? "" : "; ") + ToBeMeasuredText(node, now);
  }
  if (const std::string waits = LabelsThatWait(node); !waits.empty()) {
    note += fmt::format("{}at its release: {}", note.empty() ? "" : "; ", waits);
  }
  if (node.orphans_size() > 0) {
    note +=
        fmt::format("{}{} task(s) that Glim does not know, left alone", note.empty() ? "" : "; ", node.orphans_size());
  }
  if (node.unproven_size() > 0) {
    note += fmt::format("{}{} task(s) that Glim does not know and no job waits for, left alone",
                        note.empty() ? "" : "; ", node.unproven_size());
  }
  // Whoever relies on a node's release should know where the kernel does not vouch for it.
  if (node.census() == kBestEffort) note += fmt::format("{}census is best effort", note.empty() ? "" : "; ");
  if (node.has_only_uid()) note += fmt::format("{}{}", note.empty() ? "" : "; ", UsersText(node));
  return note;
}

std::string CensusText(const std::string& census) {
  if (census == "groups") return "exact: tasks' processes are known by their control groups";
  if (census != kBestEffort) return census;
  return "best effort: tasks' processes are known by their environment and their parents (the agent has no control "
         "groups)";
}

// Root's sockets that no file permissions guard: a socket a line.
std::string SocketsText(const glim::v1::Node& node) {
  std::string text;
  for (const std::string& socket : node.exposed_sockets()) {
    const char* at = socket.starts_with('@') ? "" : "@";
    text += fmt::format("{:<11} exposes {}{} (root) to tasks\n", text.empty() ? "sockets" : "", at, Escaped(socket));
  }
  return text;
}

// A folder a line: paths may be long.
std::string Folders(const glim::v1::Node& node) {
  if (node.allowed_folders_size() == 0) return "any folder\n";
  std::string text;
  for (const std::string& folder : node.allowed_folders()) {
    text += fmt::format("{}{}\n", text.empty() ? "" : std::string(12, ' '), Escaped(folder));
  }
  return text;
}

// What a job may expect of it: a ready node that an operator has taken out is none, nor one that was not measured yet.
std::string StateText(const glim::v1::Node& node) {
  if (node.state() == "ready" && !node.has_cordon() && WaitsToBeMeasured(node)) return "unmeasured";
  if (!node.has_cordon() || node.state() != "ready") return node.state();
  return !node.cordon().drain() ? "cordoned" : node.cordon().drained() ? "drained" : "draining";
}

// Since when, and how it ends; who and why is in the note.
std::string CordonText(const glim::v1::Node& node, TimePoint now) {
  if (!node.has_cordon()) return "";
  const glim::v1::Cordon& cordon = node.cordon();
  std::string text = FormatAgo({cordon.since_ms()}, now);
  if (cordon.until_ms() > 0) text += fmt::format(", until {}", FormatRfc3339(TimePoint{cordon.until_ms()}));
  if (cordon.deadline_ms() > 0 && !cordon.drained()) {
    text += fmt::format(", who is there is stopped at {}", FormatRfc3339(TimePoint{cordon.deadline_ms()}));
  }
  return text;
}

}  // namespace

bool WaitsToBeMeasured(const glim::v1::Node& node) {
  const std::string& need = node.validation().need();
  return need == "join" || need == "repair" || need == "asked";
}

std::string NodeText(const glim::v1::Node& node, TimePoint now, bool colour) {
  const auto& labels = node.labels();
  std::string text = fmt::format("node {}\n", Tint(Escaped(node.name()), Style::kBold, colour));
  const auto add = [&text](const char* label, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<11} {}\n", label, Escaped(value));
  };
  text += fmt::format("{:<11} {}\n", "state", Tint(Escaped(StateText(node)), StateStyle(StateText(node)), colour));
  add("note", NodeNote(node, now));
  add("taken out", CordonText(node, now));
  add("validation", MeasuredText(node, now));
  text += MendLabelsText(node);
  add("pool", labels.pool());
  add("zone", fmt::format("{}, leaf {}", labels.zone(), labels.leaf()));
  const std::string type = labels.gpu_type().empty() ? "" : " " + labels.gpu_type();
  add("gpus", GpuText(labels.gpu_count(), labels.simulated_gpus()) + type);
  add("links", fmt::format("nvlink {}, nic {}", labels.nvlink(), labels.nic()));
  add("runtime", node.runtime());
  add("census", CensusText(node.census()));
  add("agent", node.agent_version());
  add("holder", RefText(node.holder()));
  add("claim", RefText(node.claim()));
  add("heard", FormatAgo({node.last_heard_ms()}, now));
  add("users", UsersText(node));
  return text + fmt::format("{:<11} {}", "allowed", Folders(node)) + SocketsText(node) + HardwareText(node, colour) +
         HealthText(node, now, colour) + FailuresText(node, now);
}

std::string NodesTable(const std::vector<glim::v1::Node>& nodes, TimePoint now, bool colour) {
  Table table({{"NODE", false, 40},
               {"STATE"},
               {"POOL", false, 16},
               {"ZONE"},
               {"LEAF"},
               {"GPUS", true},
               {"TYPE"},
               {"NVLINK"},
               {"NIC"},
               {"RUNTIME"},
               {"HOLDER"},
               {"CLAIM"},
               {"HEARD"},
               {"NOTE", false, 100}});
  for (const auto& node : nodes) {
    const auto& labels = node.labels();
    table.AddRow({node.name(), Cell(StateText(node), StateStyle(StateText(node))), labels.pool(), labels.zone(),
                  labels.leaf(), GpuText(labels.gpu_count(), labels.simulated_gpus()), labels.gpu_type(),
                  labels.nvlink(), labels.nic(), node.runtime(), RefText(node.holder()), RefText(node.claim()),
                  FormatAgo({node.last_heard_ms()}, now), NodeNote(node, now)});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
