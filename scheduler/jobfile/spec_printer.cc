#include "scheduler/jobfile/spec_printer.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/jobfile/launcher.h"
#include "scheduler/jobfile/spec_keys.h"
#include "scheduler/jobfile/wire_field.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"
#include "sdk/base/size_text.h"
#include "sdk/yaml/print.h"

namespace glim::jobfile {
namespace {

using yaml::Entry;
using yaml::NodePtr;

constexpr std::int64_t kKib = 1024;

std::string CpusText(std::int64_t millis) {
  std::string text = fmt::format("{}.{:03}", millis / 1000, millis % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

NodePtr ListOf(const std::vector<std::string>& texts) {
  std::vector<NodePtr> items;
  for (const std::string& text : texts) items.push_back(yaml::Text(text));
  return yaml::List(std::move(items));
}

class SpecPrinter {
 public:
  explicit SpecPrinter(const glim::v1::JobSpec& spec) : spec_(spec) {}

  std::vector<Entry> Section(std::string_view path) const {
    std::vector<Entry> entries;
    for (const SpecKey& key : FindSpecSection(path).keys) {
      const std::string full = path.empty() ? std::string(key.name) : fmt::format("{}.{}", path, key.name);
      if (NodePtr value = ValueOf(key, full)) entries.push_back({std::string(key.name), {}, std::move(value)});
    }
    return entries;
  }

 private:
  // Null: the file says nothing of it.
  NodePtr ValueOf(const SpecKey& key, const std::string& full) const {
    switch (key.kind) {
      case KeyKind::kText: {
        std::string text = TextOf(spec_, key.field);
        return text.empty() ? nullptr : yaml::Text(std::move(text));
      }
      case KeyKind::kTexts: {
        const std::vector<std::string> texts = TextsOf(spec_, key.field);
        return texts.empty() ? nullptr : ListOf(texts);
      }
      case KeyKind::kFlag: return FlagOf(spec_, key.field) ? yaml::Plain("true") : nullptr;
      case KeyKind::kCount:
      case KeyKind::kTime:
      case KeyKind::kSize:
      case KeyKind::kCpus: return Amount(key, full, NumberOf(spec_, key.field));
      case KeyKind::kMoment: {
        const std::int64_t moment = NumberOf(spec_, key.field);
        return moment == 0 ? nullptr : yaml::Text(FormatRfc3339({moment}));
      }
      case KeyKind::kOwn: return Own(full);
      case KeyKind::kRefused: return nullptr;
    }
    return nullptr;
  }

  static NodePtr Amount(const SpecKey& key, const std::string& full, std::int64_t value) {
    // On the wire 0 is "not said", but where a file may say 0 and means it.
    if (value == 0 && (key.fallback.empty() || !core::CheckAmount(full, 0).ok())) return nullptr;
    switch (key.kind) {
      case KeyKind::kTime: return yaml::Plain(WriteDuration({value}));
      case KeyKind::kSize: return yaml::Plain(WriteSize((value + kKib - 1) / kKib * kKib));
      case KeyKind::kCpus: return yaml::Plain(CpusText(value));
      default: return yaml::Plain(std::to_string(value));
    }
  }

  NodePtr Own(const std::string& full) const {
    if (full == "apiVersion") return yaml::Text("glim/v1");
    if (full == "kind") return yaml::Text("Job");
    if (full == "code") return spec_.has_snapshot() ? yaml::Text("snapshot") : nullptr;
    if (full == "launcher") return yaml::Text(std::string(WordOf(spec_.launcher())));
    if (full == "env") return Env();
    if (full == "mounts") return Mounts();
    if (full == "secrets") return Secrets();
    if (full == "after") return After();
    std::vector<Entry> section = Section(full);
    return section.empty() ? nullptr : yaml::Mapping(std::move(section));
  }

  NodePtr Env() const {
    std::vector<Entry> entries;
    for (const auto& variable : spec_.env()) entries.push_back({variable.name(), {}, yaml::Text(variable.value())});
    return entries.empty() ? nullptr : yaml::Mapping(std::move(entries));
  }

  NodePtr Mounts() const {
    std::vector<NodePtr> items;
    for (const auto& mount : spec_.mounts()) {
      std::vector<Entry> entries = {{"source", {}, yaml::Text(mount.source())}};
      if (mount.target() != mount.source()) entries.push_back({"target", {}, yaml::Text(mount.target())});
      if (mount.read_only()) entries.push_back({"read_only", {}, yaml::Plain("true")});
      items.push_back(yaml::Mapping(std::move(entries)));
    }
    return items.empty() ? nullptr : yaml::List(std::move(items));
  }

  NodePtr Secrets() const {
    std::vector<NodePtr> items;
    for (const auto& secret : spec_.secrets()) {
      if (secret.env().empty()) {
        items.push_back(yaml::Text(secret.name()));
      } else {
        items.push_back(
            yaml::Mapping({{"name", {}, yaml::Text(secret.name())}, {"env", {}, yaml::Text(secret.env())}}));
      }
    }
    return items.empty() ? nullptr : yaml::List(std::move(items));
  }

  NodePtr After() const {
    std::vector<std::string> texts;
    for (const auto& other : spec_.after()) {
      const std::string when = other.when().empty() ? "ok" : other.when();
      texts.push_back(fmt::format("{}:{}{}", other.job_id(), when, other.keep() ? ":keep" : ""));
    }
    return texts.empty() ? nullptr : ListOf(texts);
  }

  const glim::v1::JobSpec& spec_;
};

}  // namespace

std::string PrintSpec(const glim::v1::JobSpec& spec) {
  return yaml::Print(*yaml::Mapping(SpecPrinter(spec).Section("")));
}

}  // namespace glim::jobfile
