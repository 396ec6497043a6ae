#include "tests/fuzz/handlers_call.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace glim::fuzz {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::Reflection;

constexpr std::uint8_t kOpened = 0x80;
constexpr std::size_t kHeadBytes = 2;
constexpr int kElementsMax = 64;  // of a list, one at a time
constexpr std::string_view kTextBegins = "/glim.v1.";

// The scheduler's own: what agents ask each other it does not answer.
const std::vector<const server::Permission*>& Rows() {
  static const auto* const kRows = [] {
    auto* const rows = new std::vector<const server::Permission*>;
    for (const server::Permission& row : server::Permissions()) {
      if (row.callers != server::Callers::kAgents) rows->push_back(&row);
    }
    return rows;
  }();
  return *kRows;
}

void SetRow(FuzzCall* call, const server::Permission* row) {
  call->row = row;
  std::string name(row->method.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  call->method = DescriptorPool::generated_pool()->FindMethodByName(name);
}

std::unique_ptr<Message> EmptyRequest(const FuzzCall& call) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(call.method->input_type())->New());
}

bool ReadText(std::string_view input, std::span<const std::string_view> callers, FuzzCall* call) {
  const std::string_view head = input.substr(0, input.find('\n'));
  const std::string_view method = head.substr(0, head.find(' '));
  const auto row = std::find_if(Rows().begin(), Rows().end(), [&](const auto* r) { return r->method == method; });
  if (row == Rows().end()) return false;
  SetRow(call, *row);
  std::string_view rest = head.substr(std::min(head.size(), method.size() + 1));
  const std::string_view name = rest.substr(0, rest.find(' '));
  const auto caller = std::find(callers.begin(), callers.end(), name);
  call->caller = caller == callers.end() ? 0 : static_cast<std::size_t>(caller - callers.begin());
  call->opened = rest.ends_with(" opened");
  const auto request = EmptyRequest(*call);
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  if (!parser.ParseFromString(std::string(input.substr(std::min(input.size(), head.size() + 1))), request.get())) {
    return false;
  }
  call->request = request->SerializeAsString();
  return true;
}

// Numbers at which a size, a time or an identity turns.
template <typename Number>
Number SomeNumber(Number now, Random* random) {
  static constexpr std::array<std::uint64_t, 16> kNumbers = {0,
                                                             1,
                                                             2,
                                                             3,
                                                             4,
                                                             5,
                                                             8,
                                                             63,
                                                             65,
                                                             1'000,
                                                             1'001,
                                                             65'536,
                                                             1u << 31,
                                                             (1u << 31) - 1,
                                                             std::numeric_limits<std::uint64_t>::max(),
                                                             std::uint64_t{1} << 63};
  switch ((*random)() % 8) {
    case 0: return static_cast<Number>(static_cast<std::uint64_t>(now) + 1);
    case 1: return static_cast<Number>(static_cast<std::uint64_t>(now) - 1);
    case 2: return std::numeric_limits<Number>::max();
    case 3: return std::numeric_limits<Number>::lowest();
    case 4: return static_cast<Number>(std::uint64_t{1} << ((*random)() % 64));
    default: return static_cast<Number>(kNumbers[(*random)() % kNumbers.size()]);
  }
}

class FieldChange {
 public:
  FieldChange(const std::vector<std::string>& words, std::size_t bytes_max, const MutateBytes& mutate, Random* random)
      : words_(words), bytes_max_(bytes_max), mutate_(mutate), random_(*random) {}

  void Change(Message* message) {
    const auto* const descriptor = message->GetDescriptor();
    if (descriptor->field_count() == 0) return;
    const FieldDescriptor* const field = descriptor->field(Below(descriptor->field_count()));
    field->is_repeated() ? ChangeList(message, field) : ChangeField(message, field);
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  void ChangeList(Message* message, const FieldDescriptor* field) {
    const Reflection& reflection = *message->GetReflection();
    const int size = reflection.FieldSize(*message, field);
    if (size > 0 && Below(4) == 0) return reflection.RemoveLast(message, field);
    const bool add = size == 0 || (size < kElementsMax && Below(3) == 0);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Change(add ? reflection.AddMessage(message, field)
                        : reflection.MutableRepeatedMessage(message, field, Below(size)));
    }
    const int at = add ? size : Below(size);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        if (add) reflection.AddString(message, field, "");
        return reflection.SetRepeatedString(message, field, at,
                                            Text(reflection.GetRepeatedString(*message, field, at), field));
      case FieldDescriptor::CPPTYPE_UINT64:
        if (add) reflection.AddUInt64(message, field, 0);
        return reflection.SetRepeatedUInt64(message, field, at, SomeNumber<std::uint64_t>(1, &random_));
      case FieldDescriptor::CPPTYPE_INT32:
        if (add) reflection.AddInt32(message, field, 0);
        return reflection.SetRepeatedInt32(message, field, at, SomeNumber<std::int32_t>(1, &random_));
      case FieldDescriptor::CPPTYPE_UINT32:
        if (add) reflection.AddUInt32(message, field, 0);
        return reflection.SetRepeatedUInt32(message, field, at, SomeNumber<std::uint32_t>(1, &random_));
      default: return;  // the protocol has no lists of others; MutateCall's bytes reach them
    }
  }

  void ChangeField(Message* message, const FieldDescriptor* field) {
    const Reflection& reflection = *message->GetReflection();
    if (Below(8) == 0) return reflection.ClearField(message, field);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: return Change(reflection.MutableMessage(message, field));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(message, field, Text(reflection.GetString(*message, field), field));
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(message, field, !reflection.GetBool(*message, field));
      case FieldDescriptor::CPPTYPE_ENUM: return reflection.SetEnumValue(message, field, Below(6) - 1);
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(message, field, SomeNumber(reflection.GetInt32(*message, field), &random_));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(message, field, SomeNumber(reflection.GetInt64(*message, field), &random_));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(message, field, SomeNumber(reflection.GetUInt32(*message, field), &random_));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(message, field, SomeNumber(reflection.GetUInt64(*message, field), &random_));
      default: return;  // doubles: the protocol has none
    }
  }

  std::string Text(std::string now, const FieldDescriptor* field) {
    switch (Below(8)) {
      case 0: return std::string(static_cast<std::size_t>(Below(300)), 'x');
      case 1: return now + words_[random_() % words_.size()];
      case 2:
      case 3: now = mutate_(std::move(now), bytes_max_); break;
      default: return words_[random_() % words_.size()];
    }
    if (field->type() == FieldDescriptor::TYPE_BYTES || Below(16) == 0) return now;
    // What is not UTF-8 the protocol's own reader refuses.
    std::transform(now.begin(), now.end(), now.begin(), [](char c) { return static_cast<char>(c & 0x7f); });
    return now;
  }

  const std::vector<std::string>& words_;
  const std::size_t bytes_max_;
  const MutateBytes& mutate_;
  Random& random_;
};

}  // namespace

FuzzCall ReadCall(std::string_view input, std::span<const std::string_view> callers) {
  FuzzCall call;
  if (input.starts_with(kTextBegins) && ReadText(input, callers, &call)) return call;
  call = FuzzCall();
  const std::uint8_t method = input.empty() ? 0 : static_cast<std::uint8_t>(input[0]);
  const std::uint8_t caller = input.size() < kHeadBytes ? 0 : static_cast<std::uint8_t>(input[1]);
  SetRow(&call, Rows()[method % Rows().size()]);
  call.caller = (caller & ~kOpened) % callers.size();
  call.opened = (caller & kOpened) != 0;
  call.request = input.substr(std::min(input.size(), kHeadBytes));
  return call;
}

std::string WriteCall(const FuzzCall& call) {
  const auto at = std::find(Rows().begin(), Rows().end(), call.row) - Rows().begin();
  const auto caller = static_cast<std::uint8_t>(call.caller | (call.opened ? kOpened : 0));
  return std::string{static_cast<char>(at), static_cast<char>(caller)} + call.request;
}

std::unique_ptr<Message> RequestOf(const FuzzCall& call) {
  auto request = EmptyRequest(call);
  if (!request->ParseFromString(call.request)) return nullptr;
  return request;
}

void MutateCall(FuzzCall* call, std::span<const std::string_view> callers, const std::vector<std::string>& words,
                std::size_t bytes_max, const MutateBytes& mutate, Random* random) {
  int changes = 1 + static_cast<int>((*random)() % 3);
  switch ((*random)() % 12) {
    case 0:
      SetRow(call, Rows()[(*random)() % Rows().size()]);
      call->request.clear();
      changes = 4;
      break;
    case 1: call->caller = (*random)() % callers.size(); return;
    case 2: call->opened = !call->opened; return;
    case 3: call->request = mutate(std::move(call->request), bytes_max); return;
    default: break;
  }
  auto request = RequestOf(*call);
  if (request == nullptr) request = EmptyRequest(*call);
  FieldChange change(words, bytes_max, mutate, random);
  for (int i = 0; i < changes; ++i) change.Change(request.get());
  std::string bytes = request->SerializeAsString();
  if (bytes.size() <= bytes_max) call->request = std::move(bytes);
}

}  // namespace glim::fuzz
