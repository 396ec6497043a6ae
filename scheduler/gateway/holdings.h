// Holdings: how many connections and bytes each address has of the gateway, and all together. Any thread; a row for
// each address that has something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace glim::gateway {

struct HoldingBounds {
  std::size_t connections_of_peer = 128;
  std::size_t connections = 1'024;
  std::size_t bytes_of_peer = std::size_t{64} << 20;  // of bodies that are read, and answers that wait to be taken
  std::size_t bytes = std::size_t{256} << 20;
};

class Holdings {
 public:
  explicit Holdings(HoldingBounds bounds) : bounds_(bounds) {}

  enum class Room : std::uint8_t { kSome, kNoneForPeer, kNone };
  // One connection more; it is given back with End.
  Room Begin(const std::string& peer);
  void End(const std::string& peer);
  // False: not so many. Given back with Release.
  bool Hold(const std::string& peer, std::size_t bytes);
  void Release(const std::string& peer, std::size_t bytes);

  std::size_t connections() const;
  std::size_t bytes() const;

 private:
  struct Row {
    std::size_t connections = 0;
    std::size_t bytes = 0;
  };
  void ForgetIfEmpty(const std::string& peer);

  const HoldingBounds bounds_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Row> peers_;
  Row all_;
};

}  // namespace glim::gateway
