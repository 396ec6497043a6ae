// Server-sent events as text. What is sent to many is made once, and shared. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "proto/json/message_json.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::gateway {

using Frame = std::shared_ptr<const std::string>;

inline Frame MakeFrame(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// "event: nodes\ndata: {...}\n\n"; `data` is JSON in one line.
std::string EventText(std::string_view name, std::string_view data);
// An id alone: it is remembered, and calls nobody.
std::string IdText(std::string_view id);
// A comment: proxies see that the connection lives.
std::string HeartbeatText();
// The first thing on a stream: when to come again after it was cut.
std::string RetryText(Duration after);
// The scheduler sees no store since then, and what is shown is of then; 0: it does again.
std::string StaleText(TimePoint since, const std::string& why);
// The last thing: why the stream ends.
std::string ByeText(const Status& why);

// In one line; broken UTF-8 is mended.
std::string OneLine(const proto::Json& json);
// `text` as a JSON string, in its quotes.
std::string JsonString(const std::string& text);

}  // namespace glim::gateway
