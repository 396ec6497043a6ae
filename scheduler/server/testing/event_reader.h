// One client that reads events.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "glim/v1/client_api.grpc.pb.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {

// One StreamEvents call, read by the test event by event.
class EventReader {
 public:
  EventReader(v1::ClientApi::Stub* client, const v1::StreamEventsRequest& request) {
    context_.AddMetadata("glim-user", "kim");
    context_.set_deadline(std::chrono::system_clock::now() + LongWait());
    stream_ = client->StreamEvents(&context_, request);
  }
  // False at the end of the stream.
  bool Next(v1::Event* event) {
    while (at_ == page_.events_size()) {
      at_ = 0;
      if (!stream_->Read(&page_)) return false;
      EXPECT_LE(page_.events_size(), 500);
      for (const auto& event : page_.events()) EXPECT_GE(page_.next_after(), event.seq());
    }
    *event = page_.events(at_++);
    return true;
  }
  std::uint64_t next_after() const { return page_.next_after(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::StreamEventsResponse>> stream_;
  v1::StreamEventsResponse page_;
  int at_ = 0;
};

}  // namespace glim::server
