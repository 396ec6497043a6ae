#include "scheduler/policy/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"
#include "sdk/io/read_file.h"

namespace glim::server {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kValuesMax = 200'000;
constexpr int kDepthMax = 16;
constexpr std::size_t kNameMax = 64;
constexpr std::size_t kTextMax = 4096;

struct Unit {
  const char* name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {{{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

std::string At(int line, int column) { return std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": "; }

Status Refuse(const std::string& place, const std::string& path, const std::string& message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, place + (path.empty() ? "" : path + ": ") + message)
      .WithReason("BAD_CONFIG")
      .WithField(path)
      .WithFix(std::move(fix));
}

std::string Mend(const std::string& key, const YamlFields& fields) {
  std::vector<std::string_view> words;
  for (const auto& [word, field] : fields) words.push_back(word);
  if (const std::string near = Nearest(key, words); !near.empty()) return "did you mean '" + near + "'?";
  std::string text = "known here: ";
  for (const std::string_view word : words) text += (text.back() == ' ' ? "" : ", ") + std::string(word);
  return text;
}

// Carries a refusal out of yaml-cpp's parser; never leaves this file.
struct Refused {
  Status status;
};

// Looks at the parser's events before a tree is built: there are texts of which yaml-cpp makes documents without end.
class Guard : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) Throw(mark, "a second document begins here", "keep one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Throw(mark, "aliases are not taken here", "write out what it stands for");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    Count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  [[noreturn]] static void Throw(const YAML::Mark& mark, const std::string& message, const std::string& fix) {
    throw Refused{Refuse(At(mark.line, mark.column), "", message, fix)};
  }
  void Count(const YAML::Mark& mark) {
    if (++values_ > kValuesMax) Throw(mark, "more than " + std::to_string(kValuesMax) + " values", "make it smaller");
  }
  void Open(const YAML::Mark& mark) {
    Count(mark);
    if (++depth_ > kDepthMax) Throw(mark, "nested deeper than " + std::to_string(kDepthMax) + " levels", "flatten it");
  }

  int documents_ = 0;
  int depth_ = 0;
  std::size_t values_ = 0;
};

Result<YAML::Node> LoadOne(const std::string& text) {
  // yaml-cpp takes a quoted text that is never closed for one that ends with the file; an end mark makes it see that.
  const std::string ended = text + "\n...\n";
  Guard guard;
  std::istringstream stream(ended);
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(guard)) {
  }
  return YAML::Load(ended);
}

Status CheckBytes(const std::string& text) {
  int line = 0, column = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f) {
      return Refuse(At(line, column), "", "a control character, byte " + std::to_string(byte), "remove it");
    }
    column = c == '\n' ? 0 : column + 1;
    line += c == '\n' ? 1 : 0;
  }
  return Status::Ok();
}

}  // namespace

std::string JoinPath(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

Status RefuseAt(const YAML::Node& where, const std::string& path, const std::string& message, std::string fix) {
  const YAML::Mark mark = where.Mark();
  return Refuse(mark.is_null() ? At(0, 0) : At(mark.line, mark.column), path, message, std::move(fix));
}

Status InSource(const std::string& source, const Status& refusal) {
  return Status(refusal.code(), source + ":" + refusal.message())
      .WithReason(refusal.reason())
      .WithField(refusal.field())
      .WithFix(refusal.fix());
}

Result<YAML::Node> ParseYaml(const std::string& text) {
  if (Status s = CheckBytes(text); !s.ok()) return s;
  try {
    return LoadOne(text);
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const YAML::Exception& e) {
    return Refuse(e.mark.is_null() ? At(0, 0) : At(e.mark.line, e.mark.column), "", "not YAML: " + Printable(e.msg),
                  "");
  } catch (const std::exception& e) {
    return Refuse(At(0, 0), "", "not YAML: " + Printable(e.what()), "");
  }
}

Result<std::string> ReadTextFile(const std::string& path, const std::string& field) {
  Result<std::string> text = ReadFile(path, kFileBytesMax);
  if (text.ok()) return text;
  const bool large = text.status().code() == StatusCode::kResourceExhausted;
  return Status(large ? StatusCode::kInvalidArgument : StatusCode::kNotFound,
                large ? path + " is larger than 1 MiB" : "cannot read " + path)
      .WithReason("BAD_CONFIG")
      .WithField(field)
      .WithFix(large ? "make it smaller" : "name a file that can be read");
}

Status ReadYamlMap(const YAML::Node& node, const std::string& path, const YamlFields& fields) {
  if (node.IsNull()) return Status::Ok();
  if (!node.IsMap()) return RefuseAt(node, path, "must be a mapping of keys to values", "write it like 'key: value'");
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "(not a word)";
    const std::string at = JoinPath(path, Printable(key));
    const auto field = fields.find(key);
    if (field == fields.end()) return RefuseAt(pair.first, at, "unknown key", Mend(key, fields));
    if (!seen.insert(key).second) return RefuseAt(pair.first, at, "is given twice", "keep one");
    const Status taken = field->second(pair.second, at);
    // What is not there has no place of its own.
    if (!taken.ok() && pair.second.IsNull()) return RefuseAt(pair.first, at, "has no value", taken.fix());
    if (!taken.ok()) return taken;
  }
  return Status::Ok();
}

Status ReadYamlEntries(const YAML::Node& node, const std::string& path, const char* example, const YamlEntry& take) {
  if (!node.IsMap()) return RefuseAt(node, path, "must be a mapping", std::string("write it like ") + example);
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (!IsName(name)) {
      return RefuseAt(pair.first, path, "'" + Printable(name) + "' is no name",
                      "use 1 to 64 characters of A-Z a-z 0-9 . _ -, in quotes if they look like a number");
    }
    const std::string at = JoinPath(path, name);
    if (!seen.insert(name).second) return RefuseAt(pair.first, at, "is given twice", "keep one");
    if (Status s = take(name, pair.first, pair.second, at); !s.ok()) return s;
  }
  return Status::Ok();
}

YamlField IntoText(std::string* out) {
  return [out](const YAML::Node& value, const std::string& path) {
    if (!value.IsScalar() || value.Scalar().empty()) return RefuseAt(value, path, "must be a text", "write a word");
    if (value.Scalar().size() > kTextMax) return RefuseAt(value, path, "is too long", "use at most 4096 bytes");
    *out = value.Scalar();
    return Status::Ok();
  };
}

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kNameMax && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
  });
}

YamlField IntoName(std::string* out) {
  return [out](const YAML::Node& value, const std::string& path) {
    if (!value.IsScalar() || !IsName(value.Scalar())) {
      return RefuseAt(value, path, "must be a name", "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
    }
    *out = value.Scalar();
    return Status::Ok();
  };
}

Result<std::int64_t> ParseYamlNumber(const YAML::Node& value, const std::string& path, std::int64_t low,
                                     std::int64_t high) {
  const std::string range = "use " + std::to_string(low) + " to " + std::to_string(high);
  if (!value.IsScalar()) return RefuseAt(value, path, "must be a whole number", range);
  const std::string& text = value.Scalar();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!whole) return RefuseAt(value, path, "'" + Printable(text) + "' is no whole number", range);
  if (error != std::errc() || number < low || number > high) {
    return RefuseAt(value, path, Printable(text) + " is out of range", range);
  }
  return number;
}

YamlField IntoPermille(std::int64_t* out, std::int64_t low, std::int64_t high) {
  return [=](const YAML::Node& value, const std::string& path) {
    const std::string range = "use " + PermilleText(low) + " to " + PermilleText(high) + ", in steps of 0.001";
    const std::string text = value.IsScalar() ? value.Scalar() : "";
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

YamlField IntoBool(bool* out) {
  return [out](const YAML::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    if (text != "true" && text != "false") return RefuseAt(value, path, "must be true or false", "write true or false");
    *out = text == "true";
    return Status::Ok();
  };
}

Result<Duration> ParseDuration(const std::string& text) {
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string_view word(end, static_cast<std::size_t>(last - end));
  const auto* const unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return word == u.name; });
  if (error != std::errc() || unit == kUnits.end() || number < 0 || number > 1'000'000'000) {
    return InvalidArgument("", "must be a duration", "write it like 250ms, 10s, 5m, 2h or 30d");
  }
  return Milliseconds(number * unit->ms);
}

std::string DurationText(Duration duration) {
  if (duration.ms == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration.ms % unit.ms == 0) return std::to_string(duration.ms / unit.ms) + unit.name;
  }
  return std::to_string(duration.ms) + "ms";
}

std::string PermilleText(std::int64_t permille) {
  std::string text = std::to_string(permille / 1000);
  if (permille % 1000 == 0) return text;
  text += "." + std::to_string(permille % 1000 + 1000).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

YamlField IntoDuration(Duration* out, Duration low, Duration high) {
  return [=](const YAML::Node& value, const std::string& path) {
    const std::string text = value.IsScalar() ? value.Scalar() : "";
    const auto duration = ParseDuration(text);
    if (!duration.ok()) return RefuseAt(value, path, duration.status().message(), duration.status().fix());
    if (*duration < low || *duration > high) {
      return RefuseAt(value, path, Printable(text) + " is out of range",
                      "use " + DurationText(low) + " to " + DurationText(high));
    }
    *out = *duration;
    return Status::Ok();
  };
}

}  // namespace glim::server
