#include "scheduler/jobfile/spec_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/jobfile/spec_keys.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/size_text.h"
#include "sdk/base/suggest.h"

namespace glim::jobfile {
FieldReader::FieldReader(std::string_view source, std::string path, const yaml::Node& mapping, Status* status)
    : source_(source), path_(std::move(path)), mapping_(mapping), status_(status) {
  if (mapping_.kind != yaml::Node::Kind::kMapping) {
    Fail(mapping_.mark, path_, fmt::format("{} found, a mapping (key: value) wanted", yaml::DescribeFound(mapping_)),
         "write its keys below it, or {key: value}");
    return;
  }
  CheckKeys();
}

void FieldReader::CheckKeys() {
  const auto& keys = FindSpecSection(path_).keys;
  for (const yaml::Entry& entry : mapping_.entries) {
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const SpecKey& key) { return key.name == entry.key; });
    if (known == keys.end()) {
      Fail(entry.mark, PathOf(EscapedStart(entry.key, kCharsShown)),
           fmt::format("unknown key '{}'", EscapedStart(entry.key, kCharsShown)), SuggestSpecKey(path_, entry.key));
    } else if (known->kind == KeyKind::kRefused) {
      Fail(entry.mark, PathOf(entry.key), fmt::format("'{}' is not supported by this version", PathOf(entry.key)),
           "remove it");
    }
  }
}

const yaml::Entry* FieldReader::Find(std::string_view key) const {
  const auto found = std::find_if(mapping_.entries.begin(), mapping_.entries.end(),
                                  [key](const yaml::Entry& entry) { return entry.key == key; });
  return found == mapping_.entries.end() ? nullptr : &*found;
}

const yaml::Node* FieldReader::Section(std::string_view key) const {
  const yaml::Entry* entry = Find(key);
  return entry == nullptr ? nullptr : entry->value.get();
}

std::string FieldReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void FieldReader::Fail(yaml::Mark mark, std::string_view field, std::string_view message, std::string fix) {
  if (status_->ok()) *status_ = yaml::RefuseIn({source_}, mark, std::string(field), message, std::move(fix));
}

void FieldReader::Fail(yaml::Mark mark, const Status& fault) {
  if (!fault.ok()) Fail(mark, fault.field(), fault.message(), fault.fix());
}

void FieldReader::FailAt(std::string_view key, const Status& fault) {
  const yaml::Entry* entry = Find(key);
  Fail(entry == nullptr ? mapping_.mark : entry->value->mark, fault);
}

std::string FieldReader::ScalarText(const yaml::Node& node, const std::string& field, std::string_view wanted) {
  if (node.kind == yaml::Node::Kind::kScalar) return node.scalar;
  Fail(node.mark, field, fmt::format("{} found, {} wanted", yaml::DescribeFound(node), wanted),
       fmt::format("write {} after '{}:'", wanted, field.substr(field.rfind('.') + 1)));
  return "";
}

std::string FieldReader::TextOf(const yaml::Node& node, const std::string& field) {
  return ScalarText(node, field, "text");
}

std::int64_t FieldReader::Amount(const yaml::Node& node, const std::string& field, std::int64_t value,
                                 std::int64_t fallback) {
  Fail(node.mark, core::CheckAmount(field, value));
  return ok() ? value : fallback;
}

std::string FieldReader::Text(std::string_view key, std::string fallback) {
  const yaml::Entry* entry = Find(key);
  return entry == nullptr || !ok() ? fallback : TextOf(*entry->value, PathOf(key));
}

std::string FieldReader::RequiredText(std::string_view key, const std::string& fix) {
  if (!Has(key)) Fail(mapping_.mark, PathOf(key), fmt::format("'{}' is missing", PathOf(key)), fix);
  return Text(key, "");
}

std::string FieldReader::OneOf(std::string_view key, std::string_view fallback,
                               std::span<const std::string_view> words) {
  const std::string value = Text(key, std::string(fallback));
  if (!ok() || std::find(words.begin(), words.end(), value) != words.end()) return value;
  const std::string nearest = Nearest(value, words);
  FailAt(key,
         InvalidArgument(PathOf(key),
                         fmt::format("'{}' is none of: {}", EscapedStart(value, kCharsShown), fmt::join(words, ", ")),
                         nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest)));
  return std::string(fallback);
}

std::uint32_t FieldReader::Count(std::string_view key, std::uint32_t fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const yaml::Node& node = *entry->value;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(node, field, "a whole number");
  if (!ok()) return fallback;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (node.quoted || text.empty() || rest != end || error == std::errc::invalid_argument) {
    Fail(node.mark, field, fmt::format("{} found, a whole number wanted", yaml::DescribeFound(node)),
         "write it in digits, without quotes: 1");
    return fallback;
  }
  if (error == std::errc::result_out_of_range) value = text.front() == '-' ? INT64_MIN : INT64_MAX;
  return static_cast<std::uint32_t>(Amount(node, field, value, fallback));
}

bool FieldReader::Flag(std::string_view key, bool fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const std::string text = ScalarText(*entry->value, PathOf(key), "true or false");
  if (!ok()) return fallback;
  if (entry->value->quoted || (text != "true" && text != "false")) {
    Fail(entry->value->mark, PathOf(key),
         fmt::format("{} found, true or false wanted", yaml::DescribeFound(*entry->value)),
         "write true or false, without quotes");
  }
  return text == "true";
}

std::int64_t FieldReader::Size(std::string_view key, std::int64_t fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(*entry->value, field, "a size such as 512MiB or 64GiB");
  if (!ok()) return fallback;
  const auto bytes = ParseSize(text);
  if (bytes) return Amount(*entry->value, field, *bytes, fallback);
  Fail(entry->value->mark, field,
       fmt::format("{} found, a size such as 512MiB or 64GiB wanted", yaml::DescribeFound(*entry->value)),
       "a whole number and one of KiB, MiB, GiB, TiB");
  return fallback;
}

std::int64_t FieldReader::CpuMillis(std::string_view key, std::int64_t fallback) {
  constexpr double kCpusMax = 1e12;  // more than any range, and it fits a whole number of thousandths
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(*entry->value, field, "a number of CPUs such as 16 or 1.5");
  if (!ok()) return fallback;
  double cpus = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, cpus, std::chars_format::fixed);
  if (entry->value->quoted || error != std::errc() || rest != end || !std::isfinite(cpus)) {
    Fail(entry->value->mark, field,
         fmt::format("{} found, a number of CPUs such as 16 or 1.5 wanted", yaml::DescribeFound(*entry->value)),
         "write it in digits, without quotes");
    return fallback;
  }
  return Amount(*entry->value, field, std::llround(std::clamp(cpus, -kCpusMax, kCpusMax) * 1000), fallback);
}

Duration FieldReader::Time(std::string_view key, Duration fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const yaml::Node& node = *entry->value;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(node, field, "a duration such as 60s, 5m or 7d");
  if (!ok()) return fallback;
  if (const auto duration = ParseDuration(text)) return {Amount(node, field, duration->ms, fallback.ms)};
  const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  Fail(node.mark, field, fmt::format("{} found, a duration such as 60s, 5m or 7d wanted", yaml::DescribeFound(node)),
       bare ? fmt::format("add the unit: {}s", EscapedStart(text, kCharsShown))
            : "a whole number and one of ms, s, m, h, d");
  return fallback;
}

std::vector<std::string> FieldReader::List(std::string_view key, std::vector<std::string> fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const yaml::Node& node = *entry->value;
  const std::string field = PathOf(key);
  if (node.kind != yaml::Node::Kind::kSequence) {
    const bool scalar = node.kind == yaml::Node::Kind::kScalar;
    Fail(node.mark, field, fmt::format("{} found, a list wanted", yaml::DescribeFound(node)),
         scalar ? fmt::format("write [{}]", EscapedStart(node.scalar, kCharsShown)) : "");
    return fallback;
  }
  std::vector<std::string> values;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_field = fmt::format("{}[{}]", field, i);
    std::string text = TextOf(*node.items[i], item_field);
    if (!seen.insert(text).second) {
      Fail(node.items[i]->mark, item_field, fmt::format("'{}' stands here twice", EscapedStart(text, kCharsShown)),
           "keep one of them");
    }
    values.push_back(std::move(text));
  }
  return values;
}

}  // namespace glim::jobfile
