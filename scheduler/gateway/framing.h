// Which requests are read at all: those of which nobody on the way, a proxy that shares a connection between users for
// one, could see another end than the gateway does. Pure; any thread.
#pragma once

#include <boost/beast/http/message.hpp>
#include <cstddef>
#include <string_view>

#include "scheduler/gateway/http_types.h"

namespace glim::gateway {

inline constexpr std::size_t kTargetBytesMax = 8'000;
inline constexpr std::size_t kHeadersMax = 100;

// `written`: the head as it came, with its empty line. Status 200: it may go on. Else the refusal, with which the
// connection has to end: nobody knows what the next bytes are.
HttpAnswer RefusalOfHead(const boost::beast::http::header<true>& head, std::string_view written);

// Fields behind a body in chunks: who has not read them as fields of the head must not find them there.
HttpAnswer RefusalOfTrailer();

}  // namespace glim::gateway
