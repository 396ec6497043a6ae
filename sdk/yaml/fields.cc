#include "sdk/yaml/fields.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"
#include "sdk/base/size_text.h"
#include "sdk/base/suggest.h"

namespace glim::yaml {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kNameMax = 64;
constexpr std::size_t kTextMax = 4096;

std::string Mend(const std::string& key, const Fields& fields) {
  std::vector<std::string_view> words;
  for (const auto& [word, field] : fields) words.push_back(word);
  if (const std::string near = Nearest(key, words); !near.empty()) return "did you mean '" + near + "'?";
  std::string text = "known here: ";
  for (const std::string_view word : words) text += (text.back() == ' ' ? "" : ", ") + std::string(word);
  return text;
}

}  // namespace

std::string JoinPath(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

Status RefuseAt(Mark where, const std::string& path, const std::string& message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::to_string(where.line) + ":" + std::to_string(where.column) + ": " +
                                                  (path.empty() ? "" : path + ": ") + message)
      .WithReason("BAD_CONFIG")
      .WithField(path)
      .WithFix(std::move(fix));
}

Status InSource(const std::string& source, const Status& refusal) {
  return Status(refusal.code(), source + ":" + refusal.message())
      .WithReason(refusal.reason())
      .WithField(refusal.field())
      .WithFix(refusal.fix());
}

Result<std::string> ReadTextFile(const std::string& path, const std::string& field) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    const bool large = file && file.gcount() > static_cast<std::streamsize>(kFileBytesMax);
    return Status(large ? StatusCode::kInvalidArgument : StatusCode::kNotFound,
                  large ? path + " is larger than 1 MiB" : "cannot read " + path)
        .WithReason("BAD_CONFIG")
        .WithField(field)
        .WithFix(large ? "make it smaller" : "name a file that can be read");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Status ReadText(const std::string& text, const std::string& source, const Fields& fields) {
  const auto root = ParseOne(text, {source, "BAD_CONFIG"});
  if (!root.ok()) return root.status();
  const Status read = ReadMap(**root, "", fields);
  return read.ok() ? read : InSource(source, read);
}

Status ReadMap(const Node& node, const std::string& path, const Fields& fields) {
  if (node.IsNull()) return Status::Ok();
  if (!node.IsMapping())
    return RefuseAt(node, path, "must be a mapping of keys to values", "write it like 'key: value'");
  for (const Entry& entry : node.entries) {
    const std::string at = JoinPath(path, Printable(entry.key));
    const auto field = fields.find(entry.key);
    if (field == fields.end()) return RefuseAt(entry.mark, at, "unknown key", Mend(entry.key, fields));
    const Status taken = field->second(*entry.value, at);
    // What is not there has no place of its own.
    if (!taken.ok() && entry.value->IsNull()) return RefuseAt(entry.mark, at, "has no value", taken.fix());
    if (!taken.ok()) return taken;
  }
  return Status::Ok();
}

Status ReadEntries(const Node& node, const std::string& path, const char* example, const TakeEntry& take) {
  if (!node.IsMapping()) return RefuseAt(node, path, "must be a mapping", std::string("write it like ") + example);
  for (const Entry& entry : node.entries) {
    if (!IsName(entry.key)) {
      return RefuseAt(entry.mark, path, "'" + Printable(entry.key) + "' is no name",
                      "use 1 to 64 characters of A-Z a-z 0-9 . _ -, in quotes if they look like a number");
    }
    if (Status s = take(entry, JoinPath(path, entry.key)); !s.ok()) return s;
  }
  return Status::Ok();
}

Field IntoText(std::string* out) {
  return [out](const Node& value, const std::string& path) {
    if (!value.IsScalar() || value.scalar.empty()) return RefuseAt(value, path, "must be a text", "write a word");
    if (value.scalar.size() > kTextMax) return RefuseAt(value, path, "is too long", "use at most 4096 bytes");
    *out = value.scalar;
    return Status::Ok();
  };
}

Field IntoChecked(std::string* out, CheckText check) {
  return [out, check = std::move(check)](const Node& value, const std::string& path) {
    std::string text;
    if (Status status = IntoText(&text)(value, path); !status.ok()) return status;
    if (const Status status = check(text); !status.ok()) return RefuseAt(value, path, status.message(), status.fix());
    *out = std::move(text);
    return Status::Ok();
  };
}

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kNameMax && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
  });
}

Field IntoName(std::string* out) {
  return [out](const Node& value, const std::string& path) {
    if (!value.IsScalar() || !IsName(value.scalar)) {
      return RefuseAt(value, path, "must be a name", "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
    }
    *out = value.scalar;
    return Status::Ok();
  };
}

Result<std::int64_t> ReadNumber(const Node& value, const std::string& path, std::int64_t low, std::int64_t high) {
  const std::string range = "use " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.IsScalar()) return RefuseAt(value, path, "must be a whole number", range);
  const std::string& text = value.scalar;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!whole) return RefuseAt(value, path, "'" + Printable(text) + "' is no whole number", range);
  if (error != std::errc() || number < low || number > high) {
    return RefuseAt(value, path, Printable(text) + " is out of range", range);
  }
  return number;
}

Field IntoPermille(std::int64_t* out, std::int64_t low, std::int64_t high) {
  return [=](const Node& value, const std::string& path) {
    const std::string range = "use " + PermilleText(low) + " to " + PermilleText(high) + ", in steps of 0.001";
    const std::string text = value.IsScalar() ? value.scalar : "";
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits = point < text.size() ? text.substr(point + 1) : "0";
    const bool three = !digits.empty() && digits.size() <= 3 &&
                       std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    digits.resize(3, '0');
    const std::string thousandths = text.substr(0, point) + digits;
    std::int64_t number = 0;
    const char* const end = thousandths.data() + thousandths.size();
    const auto [at, error] = std::from_chars(thousandths.data(), end, number);
    if (point == 0 || !three || at != end || error == std::errc::invalid_argument) {
      return RefuseAt(value, path, "'" + Printable(text) + "' is no number of that kind", range);
    }
    if (error != std::errc() || number < low || number > high) {
      return RefuseAt(value, path, Printable(text) + " is out of range", range);
    }
    *out = number;
    return Status::Ok();
  };
}

Field IntoReal(double* out, double low, double high) {
  return [=](const Node& value, const std::string& path) {
    std::ostringstream range;
    range << "use a number from " << low << " to " << high;
    const std::string text = value.IsScalar() ? value.scalar : "";
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      return RefuseAt(value, path, "must be a number", range.str());
    }
    if (!(number >= low && number <= high)) {
      return RefuseAt(value, path, Printable(text) + " is out of range", range.str());
    }
    *out = number;
    return Status::Ok();
  };
}

Field IntoSize(std::int64_t* out, std::int64_t low, std::int64_t high) {
  return [=](const Node& value, const std::string& path) {
    const std::string range = "use " + WriteSize(low) + " to " + WriteSize(high);
    const std::string text = value.IsScalar() ? value.scalar : "";
    const auto bytes = ParseSize(text);
    if (!bytes) {
      return RefuseAt(value, path, "'" + Printable(text) + "' is no size",
                      "write a whole number with KiB, MiB, GiB or TiB; " + range);
    }
    if (*bytes < low || *bytes > high) return RefuseAt(value, path, Printable(text) + " is out of range", range);
    *out = *bytes;
    return Status::Ok();
  };
}

Field IntoBool(bool* out) {
  return [out](const Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    if (text != "true" && text != "false") return RefuseAt(value, path, "must be true or false", "write true or false");
    *out = text == "true";
    return Status::Ok();
  };
}

std::string PermilleText(std::int64_t permille) {
  std::string text = std::to_string(permille / 1000);
  if (permille % 1000 == 0) return text;
  text += "." + std::to_string(permille % 1000 + 1000).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

Field IntoDuration(Duration* out, Duration low, Duration high) {
  return [=](const Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.scalar : "";
    const auto duration = ParseDuration(text);
    if (!duration) return RefuseAt(value, path, "must be a duration", "write it like 250ms, 10s, 5m, 2h or 30d");
    if (*duration < low || *duration > high) {
      return RefuseAt(value, path, Printable(text) + " is out of range",
                      "use " + WriteDuration(low) + " to " + WriteDuration(high));
    }
    *out = *duration;
    return Status::Ok();
  };
}

}  // namespace glim::yaml
