// One call that the fuzz target `handlers` makes: a method of the table of permissions, who calls it, and the request's
// bytes. As input it is either
//   two bytes and the request: the method's row; the caller, with 0x80 for `opened`
//   or lines for people: "/glim.v1.ClientApi/Cancel kim", "opened" behind it or not, and the request as text format
// The mutator reads both and writes the first.
//
// Plain functions; one thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/server/door/permissions.h"

namespace glim::fuzz {

struct FuzzCall {
  const server::Permission* row = nullptr;                     // never null once it was read
  const google::protobuf::MethodDescriptor* method = nullptr;  // likewise
  std::size_t caller = 0;                                      // of so many callers
  bool opened = false;  // of an agent's stream: what honest agents say first is said first
  std::string request;  // bytes, which need not be the method's request
};

// Without anything: the first method by the first caller. `callers`: their names.
FuzzCall ReadCall(std::string_view input, std::span<const std::string_view> callers);
std::string WriteCall(const FuzzCall& call);

// The request; null: its bytes are none.
std::unique_ptr<google::protobuf::Message> RequestOf(const FuzzCall& call);

using Random = std::minstd_rand;
// Changes some bytes in place: libFuzzer's.
using MutateBytes = std::function<std::string(std::string bytes, std::size_t bytes_max)>;

// Another method, another caller, other bytes, or most often other fields: with numbers at the edges of their types,
// and `words`, which name what is there.
void MutateCall(FuzzCall* call, std::span<const std::string_view> callers, const std::vector<std::string>& words,
                std::size_t bytes_max, const MutateBytes& mutate, Random* random);

}  // namespace glim::fuzz
