// The methods of all services of the protocol, in the order of its files. What `rights` and `http` say of them
// (options.proto) is read from here, and so no method has to be named a second time. A service that is not in the list
// of methods.cc is refused to everybody.
//
// Constant data; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "glim/v1/options.pb.h"

namespace glim::proto {

const std::vector<const google::protobuf::MethodDescriptor*>& Methods();

// "ClientApi/Cancel"
std::string ShortName(const google::protobuf::MethodDescriptor& method);

// {"POST", "/v1/jobs/{job_id}/cancel"} of each place where HTTP finds it.
std::vector<std::pair<std::string_view, std::string>> PathsOf(const google::protobuf::MethodDescriptor& method);

}  // namespace glim::proto
