// Any bytes from the network of replicas: frames, and the two files between agent and service. What is read is written
// again as it was.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/checkpoint/replica/control_message.h"
#include "sdk/checkpoint/replica/node_files.h"
#include "sdk/checkpoint/replica/service_address.h"
#include "tests/fuzz/holds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace replica = glim::checkpoint;
  using glim::fuzz::Holds;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto message = replica::DecodeBody(text); message.ok() && text.size() <= replica::kFrameBodyBytesMax) {
    std::string frame = replica::Encode(*message);
    Holds(frame.substr(replica::kFrameHeadBytes) == text, "a message has one form", text);
    replica::ControlMessage again;
    const auto taken = replica::TakeFrame(frame, again);
    Holds(taken.ok() && *taken && frame.empty() && again.index() == message->index(), "its frame is read", text);
  }
  std::string input = text;
  replica::ControlMessage message;
  const auto taken = replica::TakeFrame(input, message);
  if (!taken.ok() || !*taken) Holds(input == text, "what is not taken stays", text);
  if (const auto issuers = replica::ParseIssuers(text); issuers.ok()) {
    Holds(*replica::ParseIssuers(replica::TextOf(*issuers)) == *issuers, "keys are read again", text);
  }
  if (const auto state = replica::ParseState(text); state.ok()) {
    Holds(*replica::ParseState(replica::TextOf(*state)) == *state, "a state is read again", text);
  }
  if (const auto peer = replica::ParsePeer(text); peer.ok()) {
    Holds(replica::PeerText(*peer) == text, "a peer has one form", text);
  }
  return 0;
}
