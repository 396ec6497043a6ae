#include "nodeagent/task/task_message.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::int64_t kShardsMax = 1'000'000;           // as the scheduler takes in
constexpr std::int64_t kIntMax = std::int64_t{1} << 62;  // sums of a few of them still fit
constexpr double kSecondsMax = 1e9;
constexpr std::int64_t kStepMax = std::int64_t{1} << 53;  // exact in every language's numbers, JavaScript's too

// Reads fields out of one object; the first that does not fit is remembered, and the message refused for it.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  std::int64_t Int(const char* name, std::int64_t low, std::int64_t high) {
    const json* value = Find(name);
    if (!value) return Missing(name);
    return Checked(name, *value, low, high);
  }
  std::int64_t IntOr(const char* name, std::int64_t fallback, std::int64_t low, std::int64_t high) {
    const json* value = Find(name);
    return value ? Checked(name, *value, low, high) : fallback;
  }
  double Number(const char* name, double low, double high) {
    const json* value = Find(name);
    if (!value) return static_cast<double>(Missing(name));
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!(number >= low && number <= high)) {
      Fail(name, "a number from " + json(low).dump() + " to " + json(high).dump());
      return low;
    }
    return number;
  }
  double NumberOr(const char* name, double fallback, double low, double high) {
    return Find(name) ? Number(name, low, high) : fallback;
  }
  std::string Text(const char* name, std::size_t bytes_max) {
    const json* value = Find(name);
    if (!value) return Missing(name), "";
    if (!value->is_string() || value->get_ref<const std::string&>().size() > bytes_max) {
      Fail(name, "a string of at most " + std::to_string(bytes_max) + " bytes");
      return "";
    }
    return value->get<std::string>();
  }
  std::string TextOr(const char* name, std::size_t bytes_max) { return Find(name) ? Text(name, bytes_max) : ""; }
  bool BoolOr(const char* name, bool fallback) {
    const json* value = Find(name);
    if (!value) return fallback;
    if (!value->is_boolean()) Fail(name, "true or false");
    return value->is_boolean() && value->get<bool>();
  }
  void Fail(const char* name, const std::string& wanted) {
    if (error_.empty()) error_ = std::string(name) + ": must be " + wanted;
  }
  const std::string& error() const { return error_; }

 private:
  const json* Find(const char* name) const {
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  std::int64_t Missing(const char* name) {
    if (error_.empty()) error_ = std::string(name) + ": is missing";
    return 0;
  }
  std::int64_t Checked(const char* name, const json& value, std::int64_t low, std::int64_t high) {
    // A float that is whole is let through: not every language keeps the two apart.
    bool fits = value.is_number_integer();
    std::int64_t number = 0;
    if (value.is_number_unsigned()) {
      const auto wide = value.get<std::uint64_t>();
      fits = wide <= static_cast<std::uint64_t>(kIntMax);
      number = fits ? static_cast<std::int64_t>(wide) : 0;
    } else if (fits) {
      number = value.get<std::int64_t>();
    } else if (value.is_number_float()) {
      const double real = value.get<double>();
      fits = std::abs(real) <= 9e15 && std::floor(real) == real;
      number = fits ? static_cast<std::int64_t>(real) : 0;
    }
    if (fits && number >= low && number <= high) return number;
    Fail(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return low;
  }

  const json& object_;
  std::string error_;
};

constexpr std::int64_t kUint32Max = std::numeric_limits<std::uint32_t>::max();

std::uint32_t Agreement(Fields& fields, std::int64_t low) {
  return static_cast<std::uint32_t>(fields.Int("agreement", low, kUint32Max));
}

decltype(TaskMessage::body) ReadBody(const std::string& type, Fields& fields) {
  if (type == "progress") {
    return ProgressMessage{fields.Int("step", -1, kStepMax),
                           std::llround(fields.NumberOr("step_ms", 0, 0, kSecondsMax * 1000))};
  }
  if (type == "ack") {
    AckMessage ack;
    ack.agreement = Agreement(fields, 1);
    ack.finished = fields.BoolOr("finished", false);
    ack.hold = ack.finished ? fields.IntOr("hold", 0, -1, kStepMax) : fields.Int("hold", -1, kStepMax);
    return ack;
  }
  if (type == "needs") {
    const std::uint32_t agreement = Agreement(fields, 1);
    return NeedsMessage{agreement, std::llround(fields.Number("seconds", 0, kSecondsMax) * 1000)};
  }
  if (type == "saved") {
    SavedMessage saved;
    saved.step = fields.Int("step", 0, kStepMax);
    saved.path = fields.Text("path", kSavePathBytesMax);
    saved.bytes = fields.IntOr("bytes", 0, 0, kIntMax);
    saved.shard = static_cast<std::uint32_t>(fields.IntOr("shard", 0, 0, kUint32Max));
    saved.shards = static_cast<std::uint32_t>(fields.IntOr("shards", 1, 1, kShardsMax));
    saved.duration_ms = std::llround(fields.NumberOr("duration_ms", 0, 0, kSecondsMax * 1000));
    if (saved.shard >= saved.shards) fields.Fail("shard", "less than shards");
    return saved;
  }
  if (type == "restored") {
    const std::int64_t step = fields.Int("step", -1, kStepMax);
    return RestoredMessage{step, std::llround(fields.NumberOr("duration_ms", 0, 0, kSecondsMax * 1000))};
  }
  if (type == "restore_failed") {
    const std::int64_t step = fields.Int("step", -1, kStepMax);
    RestoreFailedMessage failed{step, fields.Text("path", kSavePathBytesMax), fields.Text("error", kTaskLineBytesMax)};
    if (failed.error.empty()) fields.Fail("error", "a reason in words");
    return failed;
  }
  if (type == "save_failed") {
    SaveFailedMessage failed{fields.IntOr("step", -1, -1, kStepMax), fields.Text("error", kTaskLineBytesMax)};
    if (failed.error.empty()) fields.Fail("error", "a reason in words");
    return failed;
  }
  if (type == "leaving") return LeavingMessage{Agreement(fields, 0)};
  if (type == "finished") return FinishedMessage{};
  if (type == "hello") {
    HelloMessage hello;
    hello.protocol = static_cast<std::uint32_t>(fields.Int("protocol", 0, kUint32Max));
    hello.rank = static_cast<std::uint32_t>(fields.Int("rank", 0, kUint32Max));
    hello.pid = fields.IntOr("pid", 0, 0, kUint32Max);
    hello.sdk = fields.TextOr("sdk", 256);
    return hello;
  }
  fields.Fail("type", "hello, progress, ack, needs, saved, save_failed, restored, restore_failed, leaving or finished");
  return RefusedMessage{};
}

}  // namespace

TaskMessage ParseTaskLine(std::string_view line) {
  TaskMessage message;
  if (line.size() > kTaskLineBytesMax) {
    message.body = RefusedMessage{"the line is longer than 64 KiB"};
    return message;
  }
  const json object = json::parse(line.begin(), line.end(), nullptr, false);
  if (!object.is_object()) {
    message.body = RefusedMessage{"the line is not a JSON object in UTF-8"};
    return message;
  }
  Fields fields(object);
  const std::string type = fields.Text("type", 64);
  if (fields.error().empty() && type != "hello") {
    message.seq = static_cast<std::uint64_t>(fields.Int("seq", 1, kIntMax));
    if (!fields.error().empty()) message.seq = 0;
  } else if (!fields.error().empty()) {
    // No type to go by; the number may still be readable, so that the sender can tell which line it was.
    Fields number(object);
    const std::int64_t seq = number.IntOr("seq", 0, 1, kIntMax);
    message.seq = number.error().empty() ? static_cast<std::uint64_t>(seq) : 0;
  }
  if (fields.error().empty()) message.body = ReadBody(type, fields);
  if (!fields.error().empty()) message.body = RefusedMessage{fields.error()};
  return message;
}

}  // namespace glim::nodeagent
