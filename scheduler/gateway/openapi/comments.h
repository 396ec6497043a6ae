// What the protocol's files say beside a field, message or method, as one line of text. The descriptors come from a set
// that protoc wrote with --include_source_info. Pure; any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace glim::gateway {

// The comment before it and the one behind it, joined; empty: there is none.
template <typename Described>
std::string CommentOf(const Described& described);

// "ListJobs" is "List jobs".
std::string InWords(const std::string& camel_case);

}  // namespace glim::gateway
