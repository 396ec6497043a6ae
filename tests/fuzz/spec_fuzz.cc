// Any bytes as a job file: specs within the limits, or a refusal that can be printed and says where the fault is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/core/model/validate_spec.h"
#include "scheduler/jobfile/spec_printer.h"
#include "scheduler/jobfile/spec_reader.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/base/utf8.h"
#include "tests/fuzz/holds.h"

namespace glim::jobfile {
namespace {

using fuzz::Holds;

constexpr std::size_t kMessageBytesMax = 4096;

void CheckRefusal(const Status& status) {
  const std::string& message = status.message();
  Holds(status.code() == StatusCode::kInvalidArgument, "a refusal's code", message);
  Holds(status.reason() == "INVALID_SPEC", "a refusal's reason", message);
  Holds(message.starts_with("fuzz.yaml:"), "a refusal says where", message);
  for (const std::string& text : {message, status.field(), status.fix()}) {
    Holds(text.size() <= kMessageBytesMax, "a refusal is short", text);
    Holds(FirstInvalidUtf8(text) == std::string::npos, "a refusal is UTF-8", text);
    Holds(FirstControl(text, false) == std::string::npos, "a refusal is printable", text);
  }
}

void CheckSpec(const glim::v1::JobSpec& spec) {
  const auto converted = wire::SpecFromProto(spec);
  Holds(converted.ok(), "the server understands it", spec.name());
  const Status valid = core::ValidateSpec(*converted);
  Holds(valid.ok(), "the server takes it", valid.message());
  for (const auto& dependency : spec.after()) Holds(dependency.job_id() > 0, "a dependency");
  glim::v1::JobSpec copy;
  Holds(copy.ParseFromString(spec.SerializeAsString()), "a spec can be sent");
  const std::string printed = PrintSpec(spec);
  const auto again = ReadSpecs(printed, {"printed.yaml", "/"});
  Holds(again.ok() && again->size() == 1, "a spec that was printed is read", printed);
  Holds(again->front().SerializeAsString() == spec.SerializeAsString(), "and is the same", printed);
}

}  // namespace
}  // namespace glim::jobfile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto specs = glim::jobfile::ReadSpecs(text, {"fuzz.yaml", "/home/kim"});
  if (!specs.ok()) {
    glim::jobfile::CheckRefusal(specs.status());
    return 0;
  }
  glim::fuzz::Holds(!specs->empty(), "at least one job");
  for (const auto& spec : *specs) glim::jobfile::CheckSpec(spec);
  return 0;
}
