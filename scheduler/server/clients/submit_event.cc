#include "scheduler/server/clients/submit_event.h"

#include <utility>

#include "scheduler/core/model/validate_spec.h"
#include "scheduler/wire/spec_convert.h"

namespace glim::server {
namespace {

constexpr std::size_t kRequestIdMax = 128;

// In a batch a field is worth little without the number of its spec.
Status AtSpec(Status status, int index, int count) {
  if (count == 1) return status;
  const std::string at = "specs[" + std::to_string(index) + "]";
  const std::string field = status.field().empty() ? at : at + "." + status.field();
  return std::move(status).WithField(field);
}

}  // namespace

Result<core::SubmitJobs> SubmitEvent(std::string user, const v1::SubmitRequest& request) {
  if (request.specs_size() == 0) return InvalidArgument("specs", "no job was given", "give at least one");
  if (request.specs_size() > kSpecsMax) {
    return InvalidArgument("specs", std::to_string(request.specs_size()) + " in one call are too many",
                           "submit at most " + std::to_string(kSpecsMax) + " at a time");
  }
  if (request.request_id().size() > kRequestIdMax) {
    return InvalidArgument("request_id", "is too long", "use at most " + std::to_string(kRequestIdMax) + " bytes");
  }
  core::SubmitJobs event;
  event.user = std::move(user);
  event.request_id = request.request_id();
  event.validate_only = request.validate_only();
  event.specs.reserve(static_cast<std::size_t>(request.specs_size()));
  for (int i = 0; i < request.specs_size(); ++i) {
    auto spec = wire::SpecFromProto(request.specs(i));
    if (!spec.ok()) return AtSpec(spec.status(), i, request.specs_size());
    if (Status s = core::ValidateSpec(*spec); !s.ok()) return AtSpec(std::move(s), i, request.specs_size());
    event.specs.push_back(std::move(spec).value());
  }
  return event;
}

}  // namespace glim::server
