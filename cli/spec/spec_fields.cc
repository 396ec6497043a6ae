#include "cli/spec/spec_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cli/spec/spec_keys.h"
#include "cli/spec/spec_limits.h"
#include "cli/text/text.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/size_text.h"

namespace glim::cli {
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
      Fail(entry.mark, PathOf(Shown(entry.key)), fmt::format("unknown key '{}'", Shown(entry.key)),
           SuggestSpecKey(path_, entry.key));
    } else if (!known->supported) {
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

std::string FieldReader::CheckedText(const yaml::Node& node, const std::string& field, const Check& check) {
  std::string text = ScalarText(node, field, "text");
  if (ok()) Fail(node.mark, check(field, text));
  return text;
}

std::string FieldReader::Text(std::string_view key, std::string fallback, const Check& check) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  return CheckedText(*entry->value, PathOf(key), check);
}

std::string FieldReader::RequiredText(std::string_view key, const std::string& fix, const Check& check) {
  if (!Has(key)) Fail(mapping_.mark, PathOf(key), fmt::format("'{}' is missing", PathOf(key)), fix);
  return Text(key, "", check);
}

std::string FieldReader::OneOf(std::string_view key, std::string_view fallback,
                               std::span<const std::string_view> words) {
  return Text(key, std::string(fallback),
              [words](const std::string& field, const std::string& value) { return CheckOneOf(field, value, words); });
}

std::uint32_t FieldReader::Count(std::string_view key, std::uint32_t fallback, std::int64_t least, std::int64_t most) {
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
  Fail(node.mark, CheckRange(field, value, least, most));
  return ok() ? static_cast<std::uint32_t>(value) : fallback;
}

bool FieldReader::Flag(std::string_view key, bool fallback) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const std::string text = ScalarText(*entry->value, PathOf(key), "true or false");
  if (!ok()) return fallback;
  if (entry->value->quoted || (text != "true" && text != "false")) {
    Fail(entry->value->mark, PathOf(key), fmt::format("{} found, true or false wanted", yaml::DescribeFound(*entry->value)),
         "write true or false, without quotes");
  }
  return text == "true";
}

std::int64_t FieldReader::Size(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(*entry->value, field, "a size such as 512MiB or 64GiB");
  if (!ok()) return fallback;
  const auto bytes = ParseSize(text);
  if (!bytes) {
    Fail(entry->value->mark, field,
         fmt::format("{} found, a size such as 512MiB or 64GiB wanted", yaml::DescribeFound(*entry->value)),
         "a whole number and one of KiB, MiB, GiB, TiB");
    return fallback;
  }
  if (*bytes < least || *bytes > most) {
    Fail(entry->value->mark, field, fmt::format("{} is too {}", Shown(text), *bytes < least ? "little" : "much"),
         fmt::format("use {} to {}", WriteSize(least), WriteSize(most)));
  }
  return *bytes;
}

std::int64_t FieldReader::CpuMillis(std::string_view key, std::int64_t fallback, std::int64_t least,
                                    std::int64_t most) {
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
  // Compared before it becomes a whole number, which a huge one would not fit.
  if (cpus * 1000 < static_cast<double>(least) || cpus * 1000 > static_cast<double>(most)) {
    Fail(entry->value->mark, field, fmt::format("{} is out of range", Shown(text)),
         fmt::format("use {} to {}", static_cast<double>(least) / 1000, most / 1000));
    return fallback;
  }
  return std::llround(cpus * 1000);
}

Duration FieldReader::Time(std::string_view key, Duration fallback, Duration least, Duration most) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const yaml::Node& node = *entry->value;
  const std::string field = PathOf(key);
  const std::string text = ScalarText(node, field, "a duration such as 60s, 5m or 7d");
  if (!ok()) return fallback;
  const auto duration = ParseDuration(text);
  if (!duration) {
    const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    Fail(node.mark, field, fmt::format("{} found, a duration such as 60s, 5m or 7d wanted", yaml::DescribeFound(node)),
         bare ? fmt::format("add the unit: {}s", Shown(text)) : "a whole number and one of ms, s, m, h, d");
    return fallback;
  }
  if (*duration < least) {
    Fail(node.mark, field, fmt::format("{} is too short", text), fmt::format("use at least {}", WriteDuration(least)));
  } else if (*duration > most) {
    Fail(node.mark, field, fmt::format("{} is too long", text), fmt::format("use at most {}", WriteDuration(most)));
  }
  return *duration;
}

std::vector<std::string> FieldReader::List(std::string_view key, std::vector<std::string> fallback,
                                           std::size_t items_max, const Check& check) {
  const yaml::Entry* entry = Find(key);
  if (entry == nullptr || !ok()) return fallback;
  const yaml::Node& node = *entry->value;
  const std::string field = PathOf(key);
  if (node.kind != yaml::Node::Kind::kSequence) {
    const bool scalar = node.kind == yaml::Node::Kind::kScalar;
    Fail(node.mark, field, fmt::format("{} found, a list wanted", yaml::DescribeFound(node)),
         scalar ? fmt::format("write [{}]", Shown(node.scalar)) : "");
    return fallback;
  }
  if (node.items.size() > items_max) {
    Fail(node.mark, field, fmt::format("{} entries, at most {} are allowed", node.items.size(), items_max));
    return fallback;
  }
  std::vector<std::string> values;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string item_field = fmt::format("{}[{}]", field, i);
    std::string text = CheckedText(*node.items[i], item_field, check);
    if (std::find(values.begin(), values.end(), text) != values.end()) {
      Fail(node.items[i]->mark, item_field, fmt::format("'{}' stands here twice", Shown(text)), "keep one of them");
    }
    values.push_back(std::move(text));
  }
  return values;
}

}  // namespace glim::cli
