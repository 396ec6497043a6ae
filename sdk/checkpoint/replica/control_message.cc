#include "sdk/checkpoint/replica/control_message.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <span>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/base/little_endian.h"
#include "sdk/checkpoint/format/crc32c.h"

namespace glim::checkpoint {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{16} << 10;

// One list of fields for both directions: `io` writes or reads each.
template <typename Io>
void Fields(Io& io, ReplicaId& m) {
  io(m.attempt), io(m.step), io(m.rank);
}
template <typename Io>
void Fields(Io& io, ReplicaSize& m) {
  io(m.world), io(m.image_bytes), io(m.part_bytes);
}
template <typename Io>
void Fields(Io& io, Hello& m) {
  io(m.protocol), io(m.job), io(m.attempt), io(m.nonce);
}
template <typename Io>
void Fields(Io& io, Challenge& m) {
  io(m.nonce);
}
template <typename Io>
void Fields(Io& io, Answer& m) {
  io(m.certificate), io(m.proof), io(m.worker);
}
template <typename Io>
void Fields(Io& io, Welcome& m) {
  io(m.proof), io(m.worker), io(m.instance);
}
template <typename Io>
void Fields(Io& io, Reserve& m) {
  Fields(io, m.id), Fields(io, m.size);
}
template <typename Io>
void Fields(Io& io, Grant& m) {
  io(m.address), io(m.key);
}
template <typename Io>
void Fields(Io& io, Commit& m) {
  io(m.part_crc32c);
}
template <typename Io>
void Fields(Io&, Done&) {}
template <typename Io>
void Fields(Io& io, List& m) {
  io(m.from_rank);
}
template <typename Io>
void Fields(Io& io, Listed& m) {
  Fields(io, m.id), Fields(io, m.size);
}
template <typename Io>
void Fields(Io& io, Listing& m) {
  io(m.entries), io(m.more);
}
template <typename Io>
void Fields(Io& io, Open& m) {
  Fields(io, m.id);
}
template <typename Io>
void Fields(Io& io, Opened& m) {
  io(m.address), io(m.key), Fields(io, m.size), io(m.part_crc32c);
}
template <typename Io>
void Fields(Io&, Drop&) {}
template <typename Io>
void Fields(Io& io, Refused& m) {
  io(m.code), io(m.message), io(m.reason), io(m.fix);
}

class Writer {
 public:
  template <std::unsigned_integral T>
  void operator()(const T& value) {
    AppendLittleEndian(text, value);
  }
  template <std::size_t n>
  void operator()(const std::array<std::byte, n>& bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), n);
  }
  void operator()(const std::string& value) {
    (*this)(static_cast<std::uint32_t>(value.size()));
    text += value;
  }
  void operator()(std::vector<Listed>& entries) {
    (*this)(static_cast<std::uint32_t>(entries.size()));
    for (Listed& entry : entries) Fields(*this, entry);
  }

  std::string text;
};

// After the first thing that is not there, nothing is read any more.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  template <std::unsigned_integral T>
  void operator()(T& value) {
    const std::uint64_t read = FromLittleEndian(Take(sizeof(T)));
    if (std::same_as<T, bool> && read > 1) good_ = false;
    value = static_cast<T>(read);
  }
  template <std::size_t n>
  void operator()(std::array<std::byte, n>& bytes) {
    const std::string_view taken = Take(n);
    if (!taken.empty()) std::memcpy(bytes.data(), taken.data(), n);
  }
  void operator()(std::string& value) {
    std::uint32_t bytes = 0;
    (*this)(bytes);
    if (bytes > kTextBytesMax) good_ = false;
    value = good_ ? Take(bytes) : std::string_view();
  }
  void operator()(std::vector<Listed>& entries) {
    std::uint32_t count = 0;
    (*this)(count);
    if (count > kListedMax) good_ = false;
    for (std::uint32_t i = 0; i < count && good_; ++i) Fields(*this, entries.emplace_back());
  }
  bool whole() const { return good_ && left_.empty(); }

 private:
  std::string_view Take(std::size_t bytes) {
    if (!good_ || left_.size() < bytes) {
      good_ = false;
      return {};
    }
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
  bool good_ = true;
};

std::uint32_t Crc32cOf(std::string_view text) { return Crc32c(std::as_bytes(std::span(text.data(), text.size()))); }

template <std::size_t... kinds>
ControlMessage MakeKind(std::size_t kind, std::index_sequence<kinds...>) {
  ControlMessage message;
  ((kind == kinds ? static_cast<void>(message.emplace<kinds>()) : static_cast<void>(0)), ...);
  return message;
}

}  // namespace

std::string Encode(const ControlMessage& message) {
  Writer body;
  body(static_cast<std::uint8_t>(message.index()));
  ControlMessage copy = message;
  std::visit([&body](auto& m) { Fields(body, m); }, copy);
  GLIM_CHECK(body.text.size() <= kFrameBodyBytesMax, "a control message is too long");
  Writer head;
  head(static_cast<std::uint32_t>(body.text.size()));
  head(Crc32cOf(body.text));
  return head.text + body.text;
}

Result<ControlMessage> DecodeBody(std::string_view body) {
  const std::size_t kind = body.empty() ? std::variant_size_v<ControlMessage> : static_cast<unsigned char>(body[0]);
  if (kind >= std::variant_size_v<ControlMessage>) {
    return Status(StatusCode::kInvalidArgument, "a message of an unknown kind");
  }
  ControlMessage message = MakeKind(kind, std::make_index_sequence<std::variant_size_v<ControlMessage>>());
  Reader reader(body.substr(1));
  std::visit([&reader](auto& m) { Fields(reader, m); }, message);
  if (!reader.whole()) {
    return Status(StatusCode::kInvalidArgument, "a message of kind " + std::to_string(kind) + " is not whole");
  }
  return message;
}

Result<bool> TakeFrame(std::string& input, ControlMessage& message) {
  if (input.size() < kFrameHeadBytes) return false;
  Reader head(std::string_view(input).substr(0, kFrameHeadBytes));
  std::uint32_t bytes = 0;
  std::uint32_t crc32c = 0;
  head(bytes), head(crc32c);
  if (bytes == 0 || bytes > kFrameBodyBytesMax) {
    return Status(StatusCode::kInvalidArgument, "a frame of " + std::to_string(bytes) + " bytes");
  }
  if (input.size() < kFrameHeadBytes + bytes) return false;
  const std::string_view body = std::string_view(input).substr(kFrameHeadBytes, bytes);
  if (Crc32cOf(body) != crc32c) return Status(StatusCode::kInvalidArgument, "a frame's checksum is wrong");
  Result<ControlMessage> decoded = DecodeBody(body);
  if (!decoded.ok()) return decoded.status();
  message = std::move(*decoded);
  input.erase(0, kFrameHeadBytes + bytes);
  return true;
}

Refused RefusalOf(const Status& status) {
  const auto cut = [](std::string text) { return text.substr(0, kTextBytesMax / 2); };
  return {static_cast<std::uint32_t>(status.code()), cut(status.message()), cut(status.reason()), cut(status.fix())};
}

Status StatusOf(const Refused& refused) {
  const bool known = refused.code > 0 && refused.code <= static_cast<std::uint32_t>(StatusCode::kUnauthenticated);
  return Status(known ? static_cast<StatusCode>(refused.code) : StatusCode::kUnknown, refused.message)
      .WithReason(refused.reason)
      .WithFix(refused.fix);
}

}  // namespace glim::checkpoint
