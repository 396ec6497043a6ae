#include "nodeagent/task/start_fault.h"

#include <cerrno>
#include <cstring>

namespace glim::nodeagent {
namespace {

constexpr const char* kMissing = "PATH_MISSING";

}  // namespace

const char* ToWord(StartFault fault) {
  switch (fault) {
    case StartFault::kNode: return "node";
    case StartFault::kJob: return "job";
    case StartFault::kPathMissing: return "path";
    case StartFault::kDisk: return "disk";
  }
  return "node";
}

StartFault StartFaultOf(const std::string& word) {
  for (const StartFault fault : {StartFault::kJob, StartFault::kPathMissing, StartFault::kDisk}) {
    if (word == ToWord(fault)) return fault;
  }
  return StartFault::kNode;
}

StartFault FaultOf(const Status& status) {
  if (status.reason() == kMissing) return StartFault::kPathMissing;
  return status.code() == StatusCode::kInvalidArgument ? StartFault::kJob : StartFault::kNode;
}

Status PathMissing(const std::string& field, const std::string& path) {
  return Status(StatusCode::kNotFound, field + " " + path + " cannot be used on this node: " + std::strerror(ENOENT))
      .WithReason(kMissing)
      .WithField(field)
      .WithFix("name a folder that exists on every node");
}

Status PathDenied(const std::string& field, const std::string& path, uid_t uid) {
  return Status(StatusCode::kPermissionDenied,
                field + " " + path + " cannot be used on this node: " + std::strerror(EACCES) + " for uid " +
                    std::to_string(uid) + ", with whose rights the job runs")
      .WithReason(kMissing)
      .WithField(field)
      .WithFix(
          "let that user, or a group that the registry says it is in, use it and pass each folder above (namei -l " +
          path + ")");
}

Status PathUntrusted(const std::string& field, const std::string& path, const std::string& why) {
  return Status(StatusCode::kPermissionDenied, field + " " + path + " cannot be used on this node: " + why)
      .WithReason(kMissing)
      .WithField(field);
}

Status StartFailure(StartFault fault, const std::string& message) {
  switch (fault) {
    case StartFault::kNode:
    case StartFault::kDisk: return Status(StatusCode::kFailedPrecondition, message);
    case StartFault::kJob: return Status(StatusCode::kInvalidArgument, message);
    case StartFault::kPathMissing: return Status(StatusCode::kNotFound, message).WithReason(kMissing);
  }
  return Status(StatusCode::kFailedPrecondition, message);
}

std::string WithFix(const Status& status) {
  return status.fix().empty() ? status.message() : status.message() + ": " + status.fix();
}

}  // namespace glim::nodeagent
