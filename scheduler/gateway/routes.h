// Routes: which RPC answers which verb and path, as the protocol's files say of each method (options.proto).
//
// Constant data and pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "glim/v1/options.pb.h"

namespace glim::gateway {

using Form = v1::Http::Form;

struct Route {
  std::string_view verb;
  std::string pattern;  // "/v1/jobs/{job_id}/cancel"
  std::string method;   // "ClientApi/Cancel", as in permissions.h
  Form form = v1::Http::PLAIN;
  const google::protobuf::MethodDescriptor* rpc = nullptr;  // never null
};

// By path, then verb.
const std::vector<Route>& Routes();

struct Match {
  const Route* route = nullptr;                             // null: no such path, or not with that verb
  std::vector<std::pair<std::string, std::string>> fields;  // of the path: its name, decoded
  std::vector<std::string_view> verbs;  // that the path has, HEAD beside GET; empty: there is no such path
};

// `path` is as it came, still encoded. HEAD finds what GET does.
Match FindRoute(std::string_view verb, std::string_view path);

// Whether a path is as a pattern says; its fields then.
bool MatchPath(std::string_view pattern, std::string_view path,
               std::vector<std::pair<std::string, std::string>>* fields);

}  // namespace glim::gateway
