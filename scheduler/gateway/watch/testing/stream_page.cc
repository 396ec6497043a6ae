#include "scheduler/gateway/watch/testing/stream_page.h"

namespace glim::gateway {
namespace {

std::string TextOf(const proto::Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

void StreamPage::Read(std::string_view bytes) {
  bytes_ += bytes.size();
  waiting_ += bytes;
  for (std::size_t end = 0; (end = waiting_.find("\n\n")) != std::string::npos; waiting_.erase(0, end + 2)) {
    Take(std::string_view(waiting_).substr(0, end));
  }
}

void StreamPage::Take(std::string_view frame) {
  std::string name, data;
  while (!frame.empty()) {
    const std::string_view line = frame.substr(0, frame.find('\n'));
    frame.remove_prefix(std::min(line.size() + 1, frame.size()));
    const std::string_view field = line.substr(0, line.find(": "));
    const std::string value(line.substr(std::min(field.size() + 2, line.size())));
    if (field == "id") last_id_ = value;
    if (field == "event") name = value;
    if (field == "data") data = value;
  }
  if (data.empty()) return;
  names_.push_back(name);
  const proto::Json json = proto::Json::parse(data);
  if (name == "nodes") TakeRows(json, "nodes", "name", &nodes_);
  if (name == "queue") TakeRows(json, "jobs", "id", &queue_);
  if (name == "bye") bye_ = json;
  if (name == "events") {
    for (const auto& event : json["events"]) events_.push_back(event["seq"].get<std::uint64_t>());
  }
  if (name.starts_with("log:") && json.contains("data")) logs_[name] += json["data"].get<std::string>();
  documents_[name] = json;
}

void StreamPage::TakeRows(const proto::Json& data, const char* list, const char* key,
                          std::map<std::string, proto::Json>* rows) {
  if (data.contains("reset")) {
    rows->clear();
    ++resets_;
  }
  if (data.contains("removed")) {
    for (const auto& removed : data["removed"]) rows->erase(TextOf(removed));
  }
  for (const auto& row : data[list]) {
    proto::Json& kept = (*rows)[TextOf(row[key])];
    for (const auto& [field, value] : row.items()) kept[field] = value;
  }
}

}  // namespace glim::gateway
