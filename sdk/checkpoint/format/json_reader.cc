#include "sdk/checkpoint/format/json_reader.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sdk/base/printable.h"
#include "sdk/checkpoint/format/damaged.h"

namespace glim::checkpoint {
namespace {

// The tape is made of these. Behind kNumber come its 8 bytes, behind kString (a key too) the 8 bytes of its length and
// then itself. nlohmann's parser has seen to it that brackets pair and that keys and values alternate.
constexpr char kNumber = 'n';
constexpr char kOtherNumber = '-';  // with a sign, a fraction or an exponent, or of more than 64 bits
constexpr char kString = 's';
constexpr char kTrue = 't';
constexpr char kFalse = 'f';
constexpr char kNull = '0';
constexpr char kEnd = '\0';  // never written: what is behind the last

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr int kDepthMax = 16;

std::string FoundAt(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "the end";
  return "'" + Printable(text.substr(at, 1)) + "' at byte " + std::to_string(at);
}

// The functions that nlohmann's parser calls have nlohmann's names; what returns false ends the parsing.
class TapeWriter {
 public:
  TapeWriter(std::string_view text, std::string& tape, std::string& stop) : text_(text), tape_(tape), stop_(stop) {
    tape_.reserve(text.size());
  }

  bool null() { return Add(kNull); }
  bool boolean(bool value) { return Add(value ? kTrue : kFalse); }
  bool number_integer(std::int64_t) { return Add(kOtherNumber); }  // is for those below 0
  bool number_unsigned(std::uint64_t number) { return Add(kNumber) && AddWord(number); }
  bool number_float(double, const std::string&) { return Add(kOtherNumber); }
  bool string(std::string& text) {
    Add(kString);
    AddWord(text.size());
    tape_ += text;
    return true;
  }
  bool key(std::string& text) { return string(text); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // no text has any
  bool start_object(std::size_t) { return Enter('{'); }
  bool start_array(std::size_t) { return Enter('['); }
  bool end_object() { return Leave('}'); }
  bool end_array() { return Leave(']'); }
  // `read`: bytes, the one that does not fit included; one more than there are when the end does not.
  bool parse_error(std::size_t read, const std::string&, const nlohmann::json::exception&) {
    stop_ = FoundAt(text_, read == 0 ? 0 : read - 1);
    return false;
  }

 private:
  bool Add(char token) {
    tape_ += token;
    return true;
  }
  bool AddWord(std::uint64_t word) {
    char bytes[kWordBytes];
    std::memcpy(bytes, &word, kWordBytes);
    tape_.append(bytes, kWordBytes);
    return true;
  }
  bool Enter(char token) {
    if (++depth_ <= kDepthMax) return Add(token);
    stop_ = "more than " + std::to_string(kDepthMax) + " levels";
    return false;
  }
  bool Leave(char token) {
    --depth_;
    return Add(token);
  }

  std::string_view text_;
  std::string& tape_;
  std::string& stop_;
  int depth_ = 0;
};

// nlohmann's parser reports an error with the text since the last string or number, copied some times and with eight
// characters for each of these: of a large text made of them that would be many times the text.
bool IsMostlyControlCharacters(std::string_view text) {
  constexpr std::size_t kAlways = std::size_t{1} << 20;
  if (text.size() <= kAlways) return false;
  const auto is_control = [](char c) { return c == '\n' || c == '\r' || c == '\t'; };
  const auto controls = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_control));
  return controls > kAlways + text.size() / 8;
}

std::string_view NameOf(char token) {
  switch (token) {
    case '{': return "an object";
    case '[': return "an array";
    case kNumber:
    case kOtherNumber: return "a number";
    case kString: return "a string";
    case kTrue: return "true";
    case kFalse: return "false";
    case kNull: return "null";
    case kEnd: return "the end";
    default: return "an end of an array or object";
  }
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string_view reason) : reason_(reason) {
  if (text.starts_with('\xEF')) {  // nlohmann would skip a byte order mark
    stop_ = FoundAt(text, 0);
    return;
  }
  if (IsMostlyControlCharacters(text)) {
    stop_ = "mostly tabs and line ends";
    return;
  }
  TapeWriter writer(text, tape_, stop_);
  if (!nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &writer)) return;
  // To nlohmann a zero byte is the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) stop_ = FoundAt(text, zero);
}

void JsonReader::Fail(const std::string& message) {
  if (!ok()) return;
  fault_ = Damaged(reason_, PathText(), message);
}

std::string JsonReader::PathText() const {
  std::string text;
  for (const Step& step : path_) {
    if (step.key.data() == nullptr) {
      text += "[" + std::to_string(step.index) + "]";
    } else {
      text += (text.empty() ? "" : ".") + Printable(step.key);
    }
  }
  return text;
}

void JsonReader::FailUnexpected(std::string_view expected) {
  const bool at_end = next_ >= tape_.size();
  if (at_end && !stop_.empty()) return Fail("expected JSON, found " + stop_);
  Fail("expected " + std::string(expected) + ", found " + std::string(NameOf(at_end ? kEnd : tape_[next_])));
}

bool JsonReader::Take(char token) {
  if (!ok() || next_ >= tape_.size() || tape_[next_] != token) return false;
  ++next_;
  return true;
}

bool JsonReader::Expect(char token, std::string_view name) {
  if (Take(token)) return true;
  FailUnexpected(name);
  return false;
}

void JsonReader::End() {
  if (next_ < tape_.size() || !stop_.empty()) FailUnexpected("the end");
}

std::uint64_t JsonReader::TakeWord() {
  std::uint64_t word = 0;
  std::memcpy(&word, tape_.data() + next_, kWordBytes);
  next_ += kWordBytes;
  return word;
}

std::uint64_t JsonReader::Number(std::uint64_t max) {
  if (!Expect(kNumber, "a whole number of 64 bits without sign, fraction or exponent")) return 0;
  const std::uint64_t number = TakeWord();
  if (number <= max) return number;
  Fail("the number is above " + std::to_string(max));
  return 0;
}

bool JsonReader::Bool() {
  if (Take(kTrue)) return true;
  Expect(kFalse, "true or false");
  return false;
}

std::string JsonReader::String() { return std::string(StringOnTape()); }

std::string_view JsonReader::StringOnTape() {
  if (!Expect(kString, "a string")) return {};
  const std::size_t bytes = TakeWord();
  const std::string_view text = std::string_view(tape_).substr(next_, bytes);
  next_ += bytes;
  return text;
}

std::size_t JsonReader::FieldIndex(std::span<const std::string_view> names, std::uint32_t& seen) {
  const std::string_view key = StringOnTape();
  if (!ok()) return 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != key) continue;
    if ((seen >> i & 1) != 0) Fail("\"" + std::string(key) + "\" is there twice");
    seen |= std::uint32_t{1} << i;
    return i;
  }
  Fail("\"" + Printable(key) + "\" is unknown");
  return 0;
}

void JsonReader::CheckAllSeen(std::span<const std::string_view> names, std::uint32_t seen) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((seen >> i & 1) == 0) Fail("\"" + std::string(names[i]) + "\" is missing");
  }
}

}  // namespace glim::checkpoint
