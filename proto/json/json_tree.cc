#include "proto/json/json_tree.h"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sdk/base/printable.h"

namespace glim::proto {
namespace {

constexpr std::size_t kKeyQuotedMax = 64;

Status BadJson(std::string message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, std::move(message)).WithReason("BAD_JSON").WithFix(std::move(fix));
}

// Told by the parser what it finds; false ends the reading.
class TreeBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return Put(nullptr) != nullptr; }
  bool boolean(bool value) { return Put(value) != nullptr; }
  bool number_integer(number_integer_t value) { return Put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return Put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) { return Put(value) != nullptr; }
  bool string(string_t& value) { return Put(std::move(value)) != nullptr; }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(Json::object()); }
  bool end_object() { return Close(); }
  bool start_array(std::size_t) { return Open(Json::array()); }
  bool end_array() { return Close(); }

  bool key(string_t& name) {
    Level& level = open_.back();
    if (!level.keys.insert(name).second)
      return Fail("the key '" + EscapedStart(name, kKeyQuotedMax) + "' is there twice");
    if (level.keys.size() > kReadKeysMax)
      return Fail("an object has more than " + std::to_string(kReadKeysMax) + " keys");
    level.key = std::move(name);
    return true;
  }

  template <typename Error>
  bool parse_error(std::size_t position, const std::string& token, const Error&) {
    return Fail("byte " + std::to_string(position) + " is not JSON, near '" + EscapedStart(token, kKeyQuotedMax) + "'");
  }

  Result<Json> Take() {
    if (!status_.ok()) return status_;
    return std::move(root_);
  }

 private:
  struct Level {
    Json* container;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool Fail(std::string message) {
    if (status_.ok()) status_ = BadJson(std::move(message), "send one JSON value in UTF-8");
    return false;
  }

  // Where the value lies now; null: there are too many.
  Json* Put(Json value) {
    if (++values_ > kReadValuesMax) {
      Fail("it has more than " + std::to_string(kReadValuesMax) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = open_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    // Known to be new: what looks for it first would make long objects slow.
    auto& object = level.container->get_ref<Json::object_t&>();
    static_cast<Json::object_t::Container&>(object).emplace_back(std::move(level.key), std::move(value));
    return &object.back().second;
  }

  bool Open(Json container) {
    if (open_.size() >= kReadDepthMax) return Fail("it is nested deeper than " + std::to_string(kReadDepthMax));
    Json* const at = Put(std::move(container));
    if (at == nullptr) return false;
    open_.push_back({at, {}, {}});
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Level> open_;  // a container grows only while it is the innermost: pointers to outer ones stay good
  std::size_t values_ = 0;
  Status status_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  if (text.size() > kReadBytesMax) {
    return BadJson("it is larger than " + std::to_string(kReadBytesMax >> 20) + " MiB", "send less at a time");
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return BadJson("it is empty", "send {} at least");
  TreeBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.Take();
}

}  // namespace glim::proto
