#include "cli/spec/spec_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "cli/spec/spec_fields.h"
#include "cli/spec/spec_keys.h"
#include "cli/text/text.h"
#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/base/duration_text.h"
#include "sdk/yaml/tree.h"

namespace glim::cli {
namespace {

constexpr Duration kGrace = Seconds(60);
constexpr Duration kMaxGrace = Seconds(300);

// Words that only the reader gives a meaning; what the others may be is the validator's.
constexpr std::string_view kApiVersions[] = {"glim/v1"};
constexpr std::string_view kKinds[] = {"Job"};
constexpr std::string_view kCodes[] = {"workdir", "snapshot"};
constexpr std::string_view kLaunchers[] = {"node", "per-gpu"};

// As the server would: the same conversion, the same rules, the same words.
Status Validate(const glim::v1::JobSpec& spec) {
  const auto converted = wire::SpecFromProto(spec);
  return converted.ok() ? core::ValidateSpec(*converted) : converted.status();
}

glim::v1::Launcher LauncherOf(const std::string& word) {
  return word == "per-gpu" ? glim::v1::LAUNCHER_PER_GPU : glim::v1::LAUNCHER_NODE;
}

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
    WithSection(top, "watchdog", [this](FieldReader& section) {
      spec_.set_no_progress_ms(section.Time("no_progress", Duration{0}).ms);
    });
    if (top.Section("notify") != nullptr) WithSection(top, "notify", [this](FieldReader& s) { ReadNotify(s); });
    ReadMounts(top);
    ReadAfter(top);
    ReadSecrets(top);
    if (status_.ok()) {
      const Status fault = Validate(spec_);
      if (!fault.ok()) top.Fail(root_.PlaceOf(fault.field()), fault);
    }
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
    top.OneOf("apiVersion", "glim/v1", kApiVersions);
    top.OneOf("kind", "Job", kKinds);
    spec_.set_name(top.RequiredText("name", "add a line such as 'name: my-job'"));
    spec_.set_run(top.RequiredText("run", "add a line such as 'run: python train.py'"));
    spec_.set_pool(Given(top, "pool", ""));
    spec_.set_priority(Given(top, "priority", "normal"));
    spec_.set_team(Given(top, "team", ""));
    spec_.set_nodes(top.Count("nodes", 1));
    spec_.set_gpus_per_node(top.Count("gpus_per_node", 8));
    spec_.set_image(Given(top, "image", "host"));
    spec_.set_workdir(ReadWorkdir(top));
    // Empty: the command line fills it in, once it has packed the workdir.
    if (top.OneOf("code", "workdir", kCodes) == "snapshot") spec_.mutable_snapshot();
    if (top.Text("launcher", "node") == "mpi") {
      top.FailAt("launcher", InvalidArgument("launcher", "launcher 'mpi' is not supported by this version",
                                             "use 'node' or 'per-gpu'"));
    }
    spec_.set_launcher(LauncherOf(top.OneOf("launcher", "node", kLaunchers)));
    spec_.set_api(top.Flag("api", false));
  }

  // On the wire an empty text is "not said": what is said must not be empty.
  static std::string Given(FieldReader& reader, std::string_view key, const std::string& fallback) {
    const std::string text = reader.Text(key, fallback);
    if (text.empty() && !fallback.empty()) {
      reader.FailAt(key, InvalidArgument(reader.PathOf(key), "empty", "leave it out, or say what it is"));
    } else if (text.empty() && reader.Has(key)) {
      reader.FailAt(key, InvalidArgument(reader.PathOf(key), "empty", "leave it out"));
    }
    return text;
  }

  std::string ReadWorkdir(FieldReader& top) {
    const std::string path = Given(top, "workdir", ".");
    if (path.starts_with('~')) {
      top.FailAt("workdir", InvalidArgument("workdir", fmt::format("'{}': '~' is not expanded", Shown(path)),
                                            "write the path in full"));
    }
    return MakeAbsolute(path, source_.base_dir);
  }

  void ReadEnv(FieldReader& top) {
    const yaml::Node* env = top.Section("env");
    if (env == nullptr || !status_.ok()) return;
    if (env->kind != yaml::Node::Kind::kMapping) {
      top.Fail(env->mark, "env", fmt::format("{} found, a mapping (NAME: value) wanted", yaml::DescribeFound(*env)),
               "write {NAME: value}");
      return;
    }
    for (const yaml::Entry& entry : env->entries) {
      const std::string field = fmt::format("env.{}", Shorten(Escaped(entry.key), 64));
      if (entry.value->kind == yaml::Node::Kind::kNull) {
        top.Fail(entry.value->mark, field, "nothing found, text wanted", "write '' for an empty value");
      }
      const std::string value = top.ScalarText(*entry.value, field, "text");
      glim::v1::EnvVar* variable = spec_.add_env();
      variable->set_name(entry.key);
      variable->set_value(value);
    }
  }

  void ReadPlacement(FieldReader& section) {
    glim::v1::Placement* placement = spec_.mutable_placement();
    for (std::string& zone : section.List("zones", {})) placement->add_zones(std::move(zone));
    placement->set_leaf(Given(section, "leaf", "pack"));
    placement->set_cross_zone(Given(section, "cross_zone", "auto"));
    placement->set_gpu_type(Given(section, "gpu_type", ""));
    placement->set_nvlink(Given(section, "nvlink", ""));
    placement->set_nic(Given(section, "nic", ""));
    placement->set_node(Given(section, "node", ""));
  }

  void ReadInterrupt(FieldReader& section) {
    glim::v1::InterruptPolicy* interrupt = spec_.mutable_interrupt();
    interrupt->set_mode(Given(section, "mode", "auto"));
    const Duration grace = section.Time("grace", kGrace);
    interrupt->set_grace_ms(grace.ms);
    interrupt->set_max_grace_ms(section.Time("max_grace", std::max(kMaxGrace, grace)).ms);
    interrupt->set_signal(Given(section, "signal", "TERM"));
    interrupt->set_to(Given(section, "to", "main"));
  }

  void ReadCheckpoint(FieldReader& section) {
    glim::v1::CheckpointPolicy* checkpoint = spec_.mutable_checkpoint();
    checkpoint->set_dir(Given(section, "dir", ""));
    checkpoint->set_every_ms(section.Time("every", Duration{0}).ms);
    checkpoint->set_keep(section.Count("keep", 3));
    checkpoint->set_if_unreachable(Given(section, "if_unreachable", "older"));
  }

  void ReadRestart(FieldReader& section) {
    glim::v1::RestartPolicy* restart = spec_.mutable_restart();
    const std::vector<std::string> causes = section.List("on", core::JobSpec{}.restart_on);
    if (causes.empty()) {
      section.FailAt("on", InvalidArgument("restart.on", "an empty list",
                                           "name a cause, or write 'max: 0' for no restart at all"));
    }
    for (const std::string& cause : causes) restart->add_on(cause);
    restart->set_max(section.Count("max", 20));
    restart->set_backoff_ms(section.Time("backoff", Seconds(30)).ms);
  }

  void ReadLimits(FieldReader& section) {
    glim::v1::TaskLimits limits;
    limits.set_memory_bytes(section.Size("memory", 0));
    limits.set_cpu_millis(section.CpuMillis("cpus", 0));
    limits.set_pids(section.Count("pids", 0));
    limits.set_shm_bytes(section.Size("shm", 0));
    if (limits.ByteSizeLong() > 0) *spec_.mutable_limits() = limits;
    spec_.set_time_limit_ms(section.Time("time", Duration{0}).ms);
  }

  void ReadNotify(FieldReader& section) {
    glim::v1::Notify* notify = spec_.mutable_notify();
    for (std::string& on : section.List("on", {})) notify->add_on(std::move(on));
    for (std::string& to : section.List("to", {})) notify->add_to(std::move(to));
  }

  void ReadAfter(FieldReader& top) {
    const std::vector<std::string> words = top.List("after", {});
    for (std::size_t i = 0; i < words.size() && status_.ok(); ++i) {
      const std::string field = fmt::format("after[{}]", i);
      const Status read = ReadDependency(field, words[i], spec_.add_after());
      if (!read.ok()) top.Fail(root_.PlaceOf(field), read);
    }
  }

  // "812" or "812:failed": a job's number, and how it must have ended.
  static Status ReadDependency(const std::string& field, const std::string& word, glim::v1::Dependency* out) {
    const std::size_t colon = word.find(':');
    const std::string number = word.substr(0, colon);
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    // 18 digits fit any counter.
    const bool counts = !number.empty() && number.size() <= 18 && std::all_of(number.begin(), number.end(), digit);
    if (!counts || number.find_first_not_of('0') == std::string::npos) {
      return InvalidArgument(field, fmt::format("'{}' does not begin with a job's number", Shown(word)),
                             "write it like 812 or 812:failed");
    }
    if (colon + 1 == word.size()) {
      return InvalidArgument(field, fmt::format("'{}' does not say how the job must have ended", Shown(word)),
                             "write it like 812 or 812:failed");
    }
    const std::string ending = colon == std::string::npos ? "ok" : word.substr(colon + 1);
    const std::size_t second = ending.find(':');
    if (second != std::string::npos && ending.substr(second + 1) != "keep") {
      return InvalidArgument(field, fmt::format("'{}': only 'keep' may stand behind the second colon", Shown(word)),
                             "write it like 812:ok:keep");
    }
    out->set_job_id(std::stoull(number));
    out->set_when(ending.substr(0, second));
    out->set_keep(second != std::string::npos);
    return Status::Ok();
  }

  void ReadMounts(FieldReader& top) {
    const yaml::Node* list = top.Section("mounts");
    if (list == nullptr || !status_.ok()) return;
    if (list->kind != yaml::Node::Kind::kSequence) {
      return top.Fail(list->mark, "mounts", fmt::format("{} found, a list wanted", yaml::DescribeFound(*list)),
                      "write [{source: /data, read_only: true}]");
    }
    for (std::size_t i = 0; i < list->items.size() && status_.ok(); ++i) {
      FieldReader item(source_.name, fmt::format("mounts[{}]", i), *list->items[i], &status_);
      if (!status_.ok()) return;
      glim::v1::Mount* mount = spec_.add_mounts();
      mount->set_source(item.RequiredText("source", "name a folder of the nodes"));
      mount->set_target(item.Text("target", mount->source()));
      mount->set_read_only(item.Flag("read_only", false));
    }
  }

  // A name, or {name, env}.
  void ReadSecrets(FieldReader& top) {
    const yaml::Node* list = top.Section("secrets");
    if (list == nullptr || !status_.ok()) return;
    if (list->kind != yaml::Node::Kind::kSequence) {
      return top.Fail(list->mark, "secrets", fmt::format("{} found, a list wanted", yaml::DescribeFound(*list)),
                      "write [NAME] or [{name: NAME, env: VARIABLE}]; values are set by glim secret set NAME");
    }
    for (std::size_t i = 0; i < list->items.size() && status_.ok(); ++i) {
      const std::string field = fmt::format("secrets[{}]", i);
      glim::v1::SecretUse* secret = spec_.add_secrets();
      if (list->items[i]->kind == yaml::Node::Kind::kScalar) {
        secret->set_name(top.ScalarText(*list->items[i], field, "text"));
        continue;
      }
      FieldReader item(source_.name, field, *list->items[i], &status_);
      if (!status_.ok()) return;
      secret->set_name(item.RequiredText("name", "name a secret that glim secret set has made"));
      secret->set_env(Given(item, "env", ""));
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
  name.resize(std::min(name.size(), core::kSpecNameBytesMax));
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
  if (overrides.name) spec->set_name(*overrides.name);
  if (overrides.pool) spec->set_pool(*overrides.pool);
  if (overrides.priority) spec->set_priority(*overrides.priority);
  if (overrides.nodes && keep(core::CheckAmount("nodes", *overrides.nodes))) {
    spec->set_nodes(static_cast<std::uint32_t>(*overrides.nodes));
  }
  if (overrides.gpus_per_node && keep(core::CheckAmount("gpus_per_node", *overrides.gpus_per_node))) {
    spec->set_gpus_per_node(static_cast<std::uint32_t>(*overrides.gpus_per_node));
  }
  if (overrides.launcher) {
    const std::string& word = *overrides.launcher;
    if (std::find(std::begin(kLaunchers), std::end(kLaunchers), word) == std::end(kLaunchers)) {
      keep(InvalidArgument("launcher", fmt::format("'{}' is none of: node, per-gpu", Shown(word)), "use one of them"));
    }
    spec->set_launcher(LauncherOf(word));
  }
  if (overrides.grace) {
    const auto grace = ParseDuration(*overrides.grace);
    const std::string& word = *overrides.grace;
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' has no unit", word),
                           fmt::format("write {}s or {}m", word, word)));
    } else if (!grace) {
      keep(InvalidArgument("interrupt.grace", fmt::format("'{}' is no duration", Shown(word)),
                           "write it like 60s or 5m"));
    } else {
      auto* interrupt = spec->mutable_interrupt();
      interrupt->set_grace_ms(grace->ms);
      interrupt->set_max_grace_ms(std::max(interrupt->max_grace_ms(), grace->ms));
    }
  }
  keep(Validate(*spec));
  return fault;
}

Result<glim::v1::JobSpec> SpecFromCommand(const std::vector<std::string>& command, const std::string& workdir) {
  if (command.empty()) return InvalidArgument("run", "no command after '--'", "write 'glim submit -- CMD...'");
  std::string run = command.front();
  if (command.size() > 1) {
    run.clear();
    for (const std::string& word : command) run += (run.empty() ? "" : " ") + ShellQuote(word);
  }
  // An empty document gets every default; name and run are put in as values, never as YAML text.
  Result<std::vector<glim::v1::JobSpec>> specs = ReadSpecs("{name: job, run: job}", {"the command line", workdir});
  if (!specs.ok()) return specs.status();
  glim::v1::JobSpec spec = std::move(specs->front());
  spec.set_run(std::move(run));
  spec.set_name(NameOfProgram(command.front()));
  if (Status fault = Validate(spec); !fault.ok()) return fault;
  return spec;
}

}  // namespace glim::cli
