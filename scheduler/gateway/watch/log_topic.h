// LogTopic: one log that a stream follows: a call of StreamLog with the reader's own credentials, whose pieces are
// gathered until the stream has room for them. It asks for no more while much waits.
//
// On the hub's thread, but for what the call tells, which is posted there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/gateway/backend.h"
#include "scheduler/gateway/watch/topics.h"

namespace glim::gateway {

class LogTopic : public std::enable_shared_from_this<LogTopic> {
 public:
  using Open = std::function<std::shared_ptr<ReadStream>(const v1::StreamLogRequest& request, ReadStream::Told told)>;

  LogTopic(boost::asio::io_context* io, LogPlace from, Open open) : io_(io), place_(from), open_(std::move(open)) {}

  void Start();
  // Its end is not told any more.
  void Cancel();
  // Appends a frame of what has come since the last one; false: nothing has.
  bool Take(std::string* text);
  // Up to where it was taken.
  const LogPlace& place() const { return place_; }

 private:
  void Came(const v1::StreamLogResponse& piece);
  void Ended(const Status& status);
  void Word();
  std::string Name() const;

  boost::asio::io_context* const io_;
  LogPlace place_;
  const Open open_;
  std::shared_ptr<ReadStream> stream_;
  v1::StreamLogResponse gathered_;
  bool any_ = false;      // in gathered_
  std::string ready_;     // frames that have not been taken
  bool waiting_ = false;  // the next piece has not been asked for
  bool cancelled_ = false;
  bool over_ = false;
  bool end_told_ = false;
  Status end_;
};

}  // namespace glim::gateway
