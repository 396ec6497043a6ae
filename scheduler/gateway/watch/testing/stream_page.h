// What a page makes of a stream's bytes: the reader's half of docs/protocols/stream.md, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/message_json.h"

namespace glim::gateway {

class StreamPage {
 public:
  // Any cut of the bytes; what is no whole frame yet waits.
  void Read(std::string_view bytes);
  // The connection is lost, with what was no whole frame.
  void Cut() { waiting_.clear(); }

  const std::string& last_id() const { return last_id_; }
  const std::map<std::string, proto::Json>& nodes() const { return nodes_; }          // by name
  const std::map<std::string, proto::Json>& queue() const { return queue_; }          // by id
  const std::map<std::string, proto::Json>& documents() const { return documents_; }  // by topic: the newest
  const std::vector<std::uint64_t>& events() const { return events_; }                // seqs, as they came
  const std::map<std::string, std::string>& logs() const { return logs_; }            // by topic, in base64
  const proto::Json& bye() const { return bye_; }                                     // null: none
  const std::vector<std::string>& names() const { return names_; }                    // of all frames
  std::size_t resets() const { return resets_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void Take(std::string_view frame);
  void TakeRows(const proto::Json& data, const char* list, const char* key, std::map<std::string, proto::Json>* rows);

  std::string waiting_;
  std::string last_id_;
  std::map<std::string, proto::Json> nodes_, queue_, documents_;
  std::vector<std::uint64_t> events_;
  std::map<std::string, std::string> logs_;
  proto::Json bye_;
  std::vector<std::string> names_;
  std::size_t resets_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace glim::gateway
