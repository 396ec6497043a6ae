// What client and service say to each other over their TCP connection (docs/protocols/replica.md). Shards themselves go
// by one-sided puts and gets, and never through here.
//
// A frame: bytes of the body (4), CRC-32C of the body (4), body: kind (1), then the fields in the order of the structs
// below. Integers are little endian; a text or list is preceded by its length (4). The kind is the variant's index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/replica/handshake.h"

namespace glim::checkpoint {

inline constexpr std::uint32_t kReplicaProtocol = 2;
inline constexpr std::size_t kFrameHeadBytes = 8;
inline constexpr std::size_t kFrameBodyBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kReplicaJobBytesMax = 256;
inline constexpr std::size_t kListedMax = 1024;  // entries of one Listing

// One rank's copy of one save.
struct ReplicaId {
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  friend auto operator<=>(const ReplicaId&, const ReplicaId&) = default;
};

struct ReplicaSize {
  std::uint32_t world = 0;        // ranks of that save
  std::uint64_t image_bytes = 0;  // from the memory's begin
  std::uint64_t part_bytes = 0;   // the part's JSON, right behind the image
  friend bool operator==(const ReplicaSize&, const ReplicaSize&) = default;
};

// --- handshake: Hello, Challenge, Answer, Welcome. Hello has the same form in each protocol, so that one that is not
// spoken here can be told so.
struct Hello {
  std::uint32_t protocol = kReplicaProtocol;
  std::string job;
  std::uint32_t attempt = 0;  // the token's, and from now on lower ones are refused; 0: it only reads
  Nonce nonce{};
};
struct Challenge {
  Nonce nonce{};
};
struct Answer {
  std::string certificate;  // of the attempt
  Proof proof{};
  std::string worker;  // UCX address
};
struct Welcome {
  Proof proof{};
  std::string worker;
  std::uint64_t instance = 0;  // of the service: another one has forgotten what its predecessor held
};

// --- a writer: Reserve -> Grant, then puts, then Commit -> Done
struct Reserve {
  ReplicaId id;
  ReplicaSize size;
};
struct Grant {
  std::uint64_t address = 0;
  std::string key;  // of the memory, for UCX
};
struct Commit {
  std::uint32_t part_crc32c = 0;
};
struct Done {};

// --- a reader: List -> Listing until `more` is false; Open -> Opened, which keeps the copy until the connection ends
struct List {
  std::uint32_t from_rank = 0;
};
struct Listed {
  ReplicaId id;
  ReplicaSize size;
  friend bool operator==(const Listed&, const Listed&) = default;
};
struct Listing {
  std::vector<Listed> entries;  // by rank, whole ranks
  bool more = false;
};
struct Open {
  ReplicaId id;
};
struct Opened {
  std::uint64_t address = 0;
  std::string key;
  ReplicaSize size;
  std::uint32_t part_crc32c = 0;
};

// The job is over: everything of it goes. -> Done
struct Drop {};

// Instead of any answer. After a broken handshake or frame the connection ends, else it goes on.
struct Refused {
  std::uint32_t code = 0;  // gRPC's
  std::string message;
  std::string reason;
  std::string fix;
};

using ControlMessage = std::variant<Hello, Challenge, Answer, Welcome, Reserve, Grant, Commit, Done, List, Listing,
                                    Open, Opened, Drop, Refused>;

// The whole frame.
std::string Encode(const ControlMessage& message);
// INVALID_ARGUMENT with the rule that the body breaks.
Result<ControlMessage> DecodeBody(std::string_view body);

// Takes the first frame off `input` if it is whole. False: more is needed. INVALID_ARGUMENT: garbage.
Result<bool> TakeFrame(std::string& input, ControlMessage& message);

Refused RefusalOf(const Status& status);
Status StatusOf(const Refused& refused);

}  // namespace glim::checkpoint
