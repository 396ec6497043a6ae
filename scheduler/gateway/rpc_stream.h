// From an RPC's stream to an HTTP body: a rank's log as it is, or one document a line. What is not taken holds back
// what is asked for: a slow reader has little in memory here.
//
// Any thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "scheduler/gateway/backend.h"
#include "scheduler/gateway/http_types.h"
#include "scheduler/gateway/routes.h"

namespace glim::gateway {

// Answers the exchange: with the stream's refusal, or with a body that goes on until the stream or the reader ends. A
// stream that says nothing for a while has been let in: its head is sent then. `head_only`: of HEAD.
void RelayStream(Backend* backend, const Route& route, const Credentials& who, const google::protobuf::Message& request,
                 bool head_only, std::shared_ptr<Exchange> exchange, const boost::asio::any_io_executor& executor);

}  // namespace glim::gateway
