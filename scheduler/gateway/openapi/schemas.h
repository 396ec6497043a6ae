// The protocol's messages as JSON Schemas of the dialect that proto/json writes and reads: what stands below
// #/components/schemas of docs/openapi.json, and the schemas of single fields.
//
// Answers have all their fields; requests may leave out any, and have no others. A message that both have is there
// twice, as "JobSpec" and "JobSpecInput". One thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <set>
#include <string>

#include "proto/json/message_json.h"

namespace glim::gateway {

class Schemas {
 public:
  using Descriptor = google::protobuf::Descriptor;
  using FieldDescriptor = google::protobuf::FieldDescriptor;

  // {"$ref": ...} of a message that is a whole document: it has `version`.
  proto::Json Document(const Descriptor& type);
  // An object with the message's fields but `without`, for a request's body.
  proto::Json Body(const Descriptor& type, const std::set<std::string>& without);
  // Of one value of the field, as a path or a query has it.
  proto::Json Value(const FieldDescriptor& field) { return ValueOf(field, Side::kRequest); }
  // The same, with the field's lists.
  proto::Json Parameter(const FieldDescriptor& field);

  void Add(const std::string& name, proto::Json schema) { schemas_[name] = std::move(schema); }
  // All that has been asked for, by name.
  proto::Json Components() const;

 private:
  enum class Side { kAnswer, kRequest };

  proto::Json RefOf(const Descriptor& type, Side side);
  proto::Json ValueOf(const FieldDescriptor& field, Side side);
  proto::Json FieldOf(const FieldDescriptor& field, Side side);
  proto::Json ObjectOf(const Descriptor& type, Side side, bool document, const std::set<std::string>& without);

  std::map<std::string, proto::Json> schemas_;
};

proto::Json RefTo(const std::string& component, const std::string& name);

// The schema of a point in time's twin.
proto::Json TwinSchema();

}  // namespace glim::gateway
