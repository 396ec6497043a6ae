#include "proto/methods/methods.h"

#include <cstddef>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/agent_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/enrol_api.pb.h"
#include "glim/v1/layout_api.pb.h"
#include "glim/v1/log_api.pb.h"
#include "glim/v1/operate_api.pb.h"
#include "glim/v1/report_api.pb.h"
#include "glim/v1/reserve_api.pb.h"
#include "glim/v1/sched_api.pb.h"

namespace glim::proto {
namespace {

std::pair<std::string_view, std::string> PathOf(const v1::Http& http) {
  switch (http.path_case()) {
    case v1::Http::kGet: return {"GET", http.get()};
    case v1::Http::kPost: return {"POST", http.post()};
    case v1::Http::kPut: return {"PUT", http.put()};
    case v1::Http::kDelete: return {"DELETE", http.delete_()};
    default: return {};  // gateway_test.cc finds it
  }
}

}  // namespace

const std::vector<const google::protobuf::MethodDescriptor*>& Methods() {
  static const auto* const kMethods = [] {
    auto* const methods = new std::vector<const google::protobuf::MethodDescriptor*>;
    // A message of each file that has a service: named like this, the linker keeps it.
    for (const google::protobuf::Descriptor* const one :
         {v1::SubmitRequest::descriptor(), v1::GetPolicyRequest::descriptor(), v1::CordonNodeRequest::descriptor(),
          v1::ListLayoutRequest::descriptor(), v1::SearchLogRequest::descriptor(),
          v1::GetHistoryReportRequest::descriptor(), v1::SetReservationRequest::descriptor(),
          v1::TraceJobRequest::descriptor(), v1::EnrolRequest::descriptor(), v1::Hello::descriptor()}) {
      const google::protobuf::FileDescriptor& file = *one->file();
      for (int s = 0; s < file.service_count(); ++s) {
        for (int m = 0; m < file.service(s)->method_count(); ++m) methods->push_back(file.service(s)->method(m));
      }
    }
    return methods;
  }();
  return *kMethods;
}

std::string ShortName(const google::protobuf::MethodDescriptor& method) {
  return method.service()->name() + "/" + method.name();
}

std::vector<std::pair<std::string_view, std::string>> PathsOf(const google::protobuf::MethodDescriptor& method) {
  std::vector<std::pair<std::string_view, std::string>> paths;
  paths.reserve(static_cast<std::size_t>(method.options().ExtensionSize(v1::http)));
  for (int i = 0; i < method.options().ExtensionSize(v1::http); ++i) {
    paths.push_back(PathOf(method.options().GetExtension(v1::http, i)));
  }
  return paths;
}

}  // namespace glim::proto
