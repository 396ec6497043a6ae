#include "cli/spec/spec_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "cli/spec/spec_fields.h"
#include "cli/spec/spec_keys.h"
#include "cli/spec/spec_limits.h"
#include "cli/text/text.h"
#include "sdk/base/duration_text.h"
#include "sdk/yaml/tree.h"

namespace glim::cli {
namespace {

constexpr Duration kGrace = Seconds(60);
constexpr Duration kMaxGrace = Seconds(300);
constexpr Duration kGraceMax = Hours(24);

std::string MakeAbsolute(const std::string& path, const std::string& base_dir) {
  std::filesystem::path full = (std::filesystem::path(base_dir) / path).lexically_normal();
  if (!full.has_filename() && full.has_relative_path()) full = full.parent_path();
  return full.string();
}

// Reads the document of one job.
class DocumentReader {
 public:
  DocumentReader(const SpecSource& source, const yaml::Node& root) : source_(source), root_(root) {}

  Result<glim::v1::JobSpec> Read() {
    FieldReader top(source_.name, "", root_, &status_);
    if (!status_.ok()) return status_;
    ReadTop(top);
    ReadEnv(top);
    WithSection(top, "placement", [this](FieldReader& section) { ReadPlacement(section); });
    WithSection(top, "interrupt", [this](FieldReader& section) { ReadInterrupt(section); });
    WithSection(top, "checkpoint", [this](FieldReader& section) { ReadCheckpoint(section); });
    WithSection(top, "restart", [this](FieldReader& section) { ReadRestart(section); });
    WithSection(top, "limits", [this](FieldReader& section) { ReadLimits(section); });
    ReadMounts(top);
    ReadAfter(top);
    if (!status_.ok()) return status_;
    return std::move(spec_);
  }

 private:
  // A section that is not there is read as an empty one, so that defaults have one home.
  template <typename Read>
  void WithSection(const FieldReader& top, const char* name, const Read& read) {
    if (!status_.ok()) return;
    yaml::Node empty;
    empty.kind = yaml::Node::Kind::kMapping;
    const yaml::Node* node = top.Section(name);
    FieldReader section(source_.name, name, node == nullptr ? empty : *node, &status_);
    if (status_.ok()) read(section);
  }

  void ReadTop(FieldReader& top) {
    constexpr std::string_view kApiVersions[] = {"glim/v1"};
    constexpr std::string_view kKinds[] = {"Job"};
    top.OneOf("apiVersion", "glim/v1", kApiVersions);
    top.OneOf("kind", "Job", kKinds);
    spec_.set_name(top.RequiredText("name", "add a line such as 'name: my-job'", CheckName));
    spec_.set_run(top.RequiredText("run", "add a line such as 'run: python train.py'", CheckRun));
    spec_.set_pool(top.Text("pool", "default", CheckName));
    spec_.set_priority(top.Text("priority", "normal", CheckPriority));
    spec_.set_nodes(top.Count("nodes", 1, 1, kNodesMax));
    spec_.set_gpus_per_node(top.Count("gpus_per_node", 8, 0, kGpusPerNodeMax));
    spec_.set_image(top.Text("image", "host", CheckImage));
    spec_.set_workdir(MakeAbsolute(top.Text("workdir", ".", CheckPath), source_.base_dir));
    // Empty: the command line fills it in, once it has packed the workdir.
    if (top.OneOf("code", "workdir", kCodes) == "snapshot") spec_.mutable_snapshot();
    const std::string launcher = top.Text("launcher", "node", CheckLauncher);
    spec_.set_launcher(launcher == "per-gpu" ? glim::v1::LAUNCHER_PER_GPU : glim::v1::LAUNCHER_NODE);
    top.FailAt("gpus_per_node", CheckRanks(launcher, spec_.gpus_per_node()));
  }

  static Status CheckImage(const std::string& field, const std::string& value) {
    if (value == "host") return Status::Ok();
    return InvalidArgument(
        field, fmt::format("image '{}' is not supported by this version", Shorten(Escaped(value), 60)),
        "use 'host'");
  }

  static Status CheckLauncher(const std::string& field, const std::string& value) {
    if (value == "mpi") {
      return InvalidArgument(field, "launcher 'mpi' is not supported by this version", "use 'node' or 'per-gpu'");
    }
    return CheckOneOf(field, value, kLaunchers);
  }

  void ReadEnv(FieldReader& top) {
    const yaml::Node* env = top.Section("env");
    if (env == nullptr || !status_.ok()) return;
    if (env->kind != yaml::Node::Kind::kMapping) {
      top.Fail(env->mark, "env", fmt::format("{} found, a mapping (NAME: value) wanted", yaml::DescribeFound(*env)),
               "write {NAME: value}");
      return;
    }
    if (env->entries.size() > kEnvEntriesMax) {
      top.Fail(env->mark, "env",
               fmt::format("{} variables, at most {} are allowed", env->entries.size(), kEnvEntriesMax));
      return;
    }
    for (const yaml::Entry& entry : env->entries) {
      const std::string field = fmt::format("env.{}", Shorten(Escaped(entry.key), 64));
      top.Fail(entry.mark, CheckEnvName(field, entry.key));
      if (entry.value->kind == yaml::Node::Kind::kNull) {
        top.Fail(entry.value->mark, field, "nothing found, text wanted", "write '' for an empty value");
      }
      const std::string value = top.ScalarText(*entry.value, field, "text");
      top.Fail(entry.value->mark, CheckEnvValue(field, value));
      glim::v1::EnvVar* variable = spec_.add_env();
      variable->set_name(entry.key);
      variable->set_value(value);
    }
  }

  void ReadPlacement(FieldReader& section) {
    glim::v1::Placement* placement = spec_.mutable_placement();
    for (std::string& zone : section.List("zones", {}, kZonesMax, CheckName)) placement->add_zones(std::move(zone));
    placement->set_leaf(section.OneOf("leaf", "pack", kLeafPolicies));
    placement->set_cross_zone(section.OneOf("cross_zone", "auto", kCrossZones));
    placement->set_gpu_type(section.Text("gpu_type", "", CheckName));
    placement->set_nvlink(section.OneOf("nvlink", "", kNvlinks));
    placement->set_nic(section.OneOf("nic", "", kNics));
  }

  void ReadInterrupt(FieldReader& section) {
    glim::v1::InterruptPolicy* interrupt = spec_.mutable_interrupt();
    interrupt->set_mode(section.OneOf("mode", "cooperative", kModes));
    const Duration grace = section.Time("grace", kGrace, Duration{0}, kGraceMax);
    const Duration max_grace = section.Time("max_grace", std::max(kMaxGrace, grace), Duration{0}, kGraceMax);
    if (max_grace < grace) {
      section.FailAt("max_grace", InvalidArgument("interrupt.max_grace", "shorter than interrupt.grace",
                                                  "make it at least as long"));
    }
    interrupt->set_grace_ms(grace.ms);
    interrupt->set_max_grace_ms(max_grace.ms);
    interrupt->set_signal(section.OneOf("signal", "TERM", kSignals));
  }

  void ReadCheckpoint(FieldReader& section) {
    glim::v1::CheckpointPolicy* checkpoint = spec_.mutable_checkpoint();
    checkpoint->set_dir(section.Text("dir", "", CheckCheckpointDir));
    checkpoint->set_every_ms(section.Time("every", Duration{0}, Seconds(1), Hours(24 * 30)).ms);
    checkpoint->set_keep(section.Count("keep", 3, 1, kKeepMax));
    checkpoint->set_if_unreachable(section.OneOf("if_unreachable", "older", kIfUnreachable));
  }

  void ReadRestart(FieldReader& section) {
    glim::v1::RestartPolicy* restart = spec_.mutable_restart();
    const auto check = [](const std::string& field, const std::string& value) {
      return CheckOneOf(field, value, kRestartCauses);
    };
    const std::vector<std::string> causes = section.List("on", {"node_failure"}, std::size(kRestartCauses), check);
    if (causes.empty()) {
      section.FailAt("on", InvalidArgument("restart.on", "an empty list",
                                           "name a cause, or write 'max: 0' for no restart at all"));
    }
    for (const std::string& cause : causes) restart->add_on(cause);
    restart->set_max(section.Count("max", 20, 0, kRestartsMax));
    restart->set_backoff_ms(section.Time("backoff", Seconds(30), Duration{0}, Hours(24)).ms);
  }

  void ReadLimits(FieldReader& section) {
    glim::v1::TaskLimits limits;
    limits.set_memory_bytes(section.Size("memory", 0, kMemoryMin, kSizeMax));
    limits.set_cpu_millis(section.CpuMillis("cpus", 0, kCpuMillisMin, kCpuMillisMax));
    limits.set_pids(section.Count("pids", 0, kPidsMin, kPidsMax));
    limits.set_shm_bytes(section.Size("shm", 0, kSizeMin, kSizeMax));
    if (limits.ByteSizeLong() > 0) *spec_.mutable_limits() = limits;
    spec_.set_time_limit_ms(section.Time("time", Duration{0}, kTimeLimitMin, kTimeLimitMax).ms);
  }

  void ReadAfter(FieldReader& top) {
    const std::vector<std::string> words = top.List("after", {}, kAfterMax, CheckDependency);
    for (std::size_t i = 0; i < words.size() && status_.ok(); ++i) {
      const glim::v1::Dependency dependency = ParseDependency(words[i]);
      for (const glim::v1::Dependency& other : spec_.after()) {
        if (other.job_id() != dependency.job_id()) continue;
        const std::string field = fmt::format("after[{}]", i);
        top.FailAt("after",
                   InvalidArgument(field, fmt::format("job {} stands here twice", other.job_id()), "keep one of them"));
      }
      *spec_.add_after() = dependency;
    }
  }

  // `word` has passed CheckDependency.
  static glim::v1::Dependency ParseDependency(const std::string& word) {
    const std::size_t colon = word.find(':');
    glim::v1::Dependency dependency;
    dependency.set_job_id(std::stoull(word.substr(0, colon)));
    dependency.set_when(colon == std::string::npos ? "ok" : word.substr(colon + 1));
    return dependency;
  }

  void ReadMounts(FieldReader& top) {
    const yaml::Node* list = top.Section("mounts");
    if (list == nullptr || !status_.ok()) return;
    if (list->kind != yaml::Node::Kind::kSequence) {
      return top.Fail(list->mark, "mounts", fmt::format("{} found, a list wanted", yaml::DescribeFound(*list)),
                      "write [{source: /data, read_only: true}]");
    }
    if (list->items.size() > kMountsMax) {
      return top.Fail(list->mark, "mounts",
                      fmt::format("{} entries, at most {} are allowed", list->items.size(), kMountsMax));
    }
    for (std::size_t i = 0; i < list->items.size() && status_.ok(); ++i) {
      FieldReader item(source_.name, fmt::format("mounts[{}]", i), *list->items[i], &status_);
      if (!status_.ok()) return;
      glim::v1::Mount* mount = spec_.add_mounts();
      mount->set_source(item.RequiredText("source", "name a folder of the nodes", CheckMountPath));
      mount->set_target(item.Text("target", mount->source(), CheckMountPath));
      mount->set_read_only(item.Flag("read_only", false));
      for (int before = 0; before + 1 < spec_.mounts_size(); ++before) {
        if (spec_.mounts(before).target() != mount->target()) continue;
        item.FailAt("target",
                    InvalidArgument(item.PathOf("target"), "the target of another mount", "keep one of them"));
      }
    }
  }

  const SpecSource& source_;
  const yaml::Node& root_;
  Status status_;
  glim::v1::JobSpec spec_;
};

// The program's name, cut to what a job's name may be: "./train.py" is "train.py".
std::string NameOfProgram(const std::string& command_line) {
  const std::string word = command_line.substr(0, command_line.find_first_of(" \t\n"));
  std::string name;
  for (const char c : word.substr(word.rfind('/') + 1)) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (fits && !(name.empty() && (c == '.' || c == '-'))) name += c;
  }
  name.resize(std::min(name.size(), kNameBytesMax));
  return name.empty() ? "job" : name;
}

}  // namespace

Result<std::vector<glim::v1::JobSpec>> ReadSpecs(std::string_view text, const SpecSource& source) {
  Result<std::vector<yaml::NodePtr>> documents = yaml::Parse(text, {source.name});
  if (!documents.ok()) return documents.status();
  if (documents->empty()) {
    return InvalidArgument("", fmt::format("{}: no job in it", source.name), "see docs/job-spec.md for an example");
  }
  std::vector<glim::v1::JobSpec> specs;
  for (const yaml::NodePtr& root : *documents) {
    Result<glim::v1::JobSpec> spec = DocumentReader(source, *root).Read();
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  return specs;
}

Status ApplyOverrides(const SpecOverrides& overrides, glim::v1::JobSpec* spec) {
  Status fault;
  const auto keep = [&fault](Status status) {
    if (fault.ok() && !status.ok()) fault = std::move(status);
    return fault.ok();
  };
  if (overrides.name && keep(CheckName("name", *overrides.name))) spec->set_name(*overrides.name);
  if (overrides.pool && keep(CheckName("pool", *overrides.pool))) spec->set_pool(*overrides.pool);
  if (overrides.priority && keep(CheckPriority("priority", *overrides.priority))) {
    spec->set_priority(*overrides.priority);
  }
  if (overrides.nodes && keep(CheckRange("nodes", *overrides.nodes, 1, kNodesMax))) {
    spec->set_nodes(static_cast<std::uint32_t>(*overrides.nodes));
  }
  if (overrides.gpus_per_node && keep(CheckRange("gpus_per_node", *overrides.gpus_per_node, 0, kGpusPerNodeMax))) {
    spec->set_gpus_per_node(static_cast<std::uint32_t>(*overrides.gpus_per_node));
  }
  if (overrides.launcher && keep(CheckOneOf("launcher", *overrides.launcher, kLaunchers))) {
    spec->set_launcher(*overrides.launcher == "per-gpu" ? glim::v1::LAUNCHER_PER_GPU : glim::v1::LAUNCHER_NODE);
  }
  const bool per_gpu = spec->launcher() == glim::v1::LAUNCHER_PER_GPU;
  keep(CheckRanks(per_gpu ? "per-gpu" : "node", spec->gpus_per_node()));
  if (overrides.grace) {
    const auto grace = ParseDuration(*overrides.grace);
    const std::string& word = *overrides.grace;
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' has no unit", word),
                           fmt::format("write {}s or {}m", word, word)));
    } else if (!grace || *grace > kGraceMax) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' is no duration of at most 24h", *overrides.grace),
                           "write it like 60s or 5m"));
    } else {
      auto* interrupt = spec->mutable_interrupt();
      interrupt->set_grace_ms(grace->ms);
      interrupt->set_max_grace_ms(std::max(interrupt->max_grace_ms(), grace->ms));
    }
  }
  return fault;
}

Result<glim::v1::JobSpec> SpecFromCommand(const std::vector<std::string>& command, const std::string& workdir) {
  if (command.empty()) return InvalidArgument("run", "no command after '--'", "write 'glim submit -- CMD...'");
  std::string run = command.front();
  if (command.size() > 1) {
    run.clear();
    for (const std::string& word : command) run += (run.empty() ? "" : " ") + ShellQuote(word);
  }
  if (Status check = CheckRun("run", run); !check.ok()) return check;
  // An empty document gets every default; name and run are put in as values, never as YAML text.
  Result<std::vector<glim::v1::JobSpec>> specs = ReadSpecs("{name: job, run: job}", {"the command line", workdir});
  if (!specs.ok()) return specs.status();
  glim::v1::JobSpec spec = std::move(specs->front());
  spec.set_run(std::move(run));
  spec.set_name(NameOfProgram(command.front()));
  return spec;
}

}  // namespace glim::cli
