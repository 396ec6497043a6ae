#include "scheduler/jobfile/spec_reader.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "scheduler/core/model/spec.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/jobfile/launcher.h"
#include "scheduler/jobfile/spec_fields.h"
#include "scheduler/jobfile/spec_keys.h"
#include "scheduler/jobfile/wire_field.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/rfc3339_read.h"
#include "sdk/yaml/tree.h"

namespace glim::jobfile {
namespace {

// Words that only the reader gives a meaning; what the others may be is the validator's.
constexpr std::string_view kApiVersions[] = {"glim/v1"};
constexpr std::string_view kKinds[] = {"Job"};
constexpr std::string_view kCodes[] = {"workdir", "snapshot"};

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
    for (const char* name : {"placement", "interrupt", "checkpoint", "restart", "watchdog", "limits", "notify"}) {
      ReadSection(top, name);
    }
    ReadMounts(top);
    ReadAfter(top);
    ReadSecrets(top);
    if (status_.ok()) {
      const Status fault = CheckSpec(spec_);
      if (!fault.ok()) top.Fail(root_.PlaceOf(fault.field()), fault);
    }
    if (!status_.ok()) return status_;
    return std::move(spec_);
  }

 private:
  // A section that is not there is read as an empty one, so that defaults have one home.
  void ReadSection(const FieldReader& top, const std::string& name) {
    if (!status_.ok()) return;
    yaml::Node empty;
    empty.kind = yaml::Node::Kind::kMapping;
    const yaml::Node* node = top.Section(name);
    FieldReader section(source_.name, name, node == nullptr ? empty : *node, &status_);
    ReadKeys(section, name);
    if (name == "interrupt") ReadMaxGrace(section);
    if (name == "restart") ReadRestartOn(section);
    if (name == "notify" && node != nullptr) spec_.mutable_notify();  // the validator says what an empty one lacks
  }

  void ReadTop(FieldReader& top) {
    top.OneOf("apiVersion", "glim/v1", kApiVersions);
    top.OneOf("kind", "Job", kKinds);
    spec_.set_name(top.RequiredText("name", "add a line such as 'name: my-job'"));
    spec_.set_run(top.RequiredText("run", "add a line such as 'run: python train.py'"));
    ReadKeys(top, "");
    spec_.set_workdir(ReadWorkdir(top));
    // Empty: the command line fills it in, once it has packed the workdir.
    if (top.OneOf("code", "workdir", kCodes) == "snapshot") spec_.mutable_snapshot();
    if (top.Text("launcher", "node") == "mpi") {
      top.FailAt("launcher", InvalidArgument("launcher", "launcher 'mpi' is not supported by this version",
                                             "use 'node' or 'per-gpu'"));
    }
    spec_.set_launcher(LauncherOf(top.OneOf("launcher", "node", kLaunchers)));
  }

  // What the section's rows alone say how to read.
  void ReadKeys(FieldReader& section, std::string_view path) {
    for (const SpecKey& key : FindSpecSection(path).keys) {
      if (!status_.ok()) return;
      if (key.reading == Reading::kByRow && (section.Has(key.name) || !key.fallback.empty())) ReadKey(section, key);
    }
  }

  void ReadKey(FieldReader& section, const SpecKey& key) {
    switch (key.kind) {
      case KeyKind::kText: return SetText(&spec_, key.field, Given(section, key.name, std::string(key.fallback)));
      case KeyKind::kCount:
        return SetNumber(&spec_, key.field,
                         section.Count(key.name, static_cast<std::uint32_t>(AmountIn(key.fallback))));
      case KeyKind::kTime: return SetNumber(&spec_, key.field, section.Time(key.name, DurationIn(key.fallback)).ms);
      case KeyKind::kSize: return SetNumber(&spec_, key.field, section.Size(key.name, 0));
      case KeyKind::kCpus: return SetNumber(&spec_, key.field, section.CpuMillis(key.name, 0));
      case KeyKind::kFlag: return SetFlag(&spec_, key.field, section.Flag(key.name, false));
      case KeyKind::kMoment: return SetNumber(&spec_, key.field, Moment(section, key.name));
      case KeyKind::kTexts:
        for (std::string& text : section.List(key.name, {})) AddText(&spec_, key.field, std::move(text));
        return;
      case KeyKind::kOwn:
      case KeyKind::kRefused: return;
    }
  }

  static std::int64_t AmountIn(std::string_view text) { return text.empty() ? 0 : std::stoll(std::string(text)); }
  static Duration DurationIn(std::string_view text) { return ParseDuration(text).value_or(Duration{0}); }

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

  static std::int64_t Moment(FieldReader& section, std::string_view key) {
    const std::string text = section.Text(key, "");
    const auto moment = ParseRfc3339(text);
    if (moment && moment->ms > 0) return moment->ms;
    section.FailAt(key, InvalidArgument(section.PathOf(key),
                                        fmt::format("'{}' is no point in time", EscapedStart(text, kCharsShown)),
                                        "write it with its zone: 2027-01-31T18:00:00Z or 2027-01-31T18:00:00+08:00"));
    return 0;
  }

  std::string ReadWorkdir(FieldReader& top) {
    const std::string path = Given(top, "workdir", ".");
    if (path.starts_with('~')) {
      top.FailAt("workdir",
                 InvalidArgument("workdir", fmt::format("'{}': '~' is not expanded", EscapedStart(path, kCharsShown)),
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
      const std::string field = fmt::format("env.{}", EscapedStart(entry.key, kCharsShown));
      if (entry.value->kind == yaml::Node::Kind::kNull) {
        top.Fail(entry.value->mark, field, "nothing found, text wanted", "write '' for an empty value");
      }
      const std::string value = top.ScalarText(*entry.value, field, "text");
      glim::v1::EnvVar* variable = spec_.add_env();
      variable->set_name(entry.key);
      variable->set_value(value);
    }
  }

  // It is never less than the grace.
  void ReadMaxGrace(FieldReader& section) {
    auto* interrupt = spec_.mutable_interrupt();
    const Duration usual = DurationIn(FindSpecKey("interrupt", "max_grace").fallback);
    const Duration fallback = std::max(usual, Milliseconds(interrupt->grace_ms()));
    interrupt->set_max_grace_ms(section.Time("max_grace", fallback).ms);
  }

  void ReadRestartOn(FieldReader& section) {
    const std::vector<std::string> causes = section.List("on", core::JobSpec{}.restart_on);
    if (causes.empty()) {
      section.FailAt("on", InvalidArgument("restart.on", "an empty list",
                                           "name a cause, or write 'max: 0' for no restart at all"));
    }
    for (const std::string& cause : causes) spec_.mutable_restart()->add_on(cause);
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
      return InvalidArgument(field,
                             fmt::format("'{}' does not begin with a job's number", EscapedStart(word, kCharsShown)),
                             "write it like 812 or 812:failed");
    }
    if (colon + 1 == word.size()) {
      return InvalidArgument(
          field, fmt::format("'{}' does not say how the job must have ended", EscapedStart(word, kCharsShown)),
          "write it like 812 or 812:failed");
    }
    const std::string ending = colon == std::string::npos ? "ok" : word.substr(colon + 1);
    const std::size_t second = ending.find(':');
    if (second != std::string::npos && ending.substr(second + 1) != "keep") {
      return InvalidArgument(
          field, fmt::format("'{}': only 'keep' may stand behind the second colon", EscapedStart(word, kCharsShown)),
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

}  // namespace

Status CheckSpec(const glim::v1::JobSpec& spec) {
  const auto converted = wire::SpecFromProto(spec);
  return converted.ok() ? core::ValidateSpec(*converted) : converted.status();
}

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

}  // namespace glim::jobfile
