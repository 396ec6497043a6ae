#include "sdk/checkpoint/python/failure.h"

#include <pybind11/pybind11.h>

#include <exception>

namespace glim::checkpoint::python {
namespace {

namespace py = pybind11;

const char* NameOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kCancelled: return "CANCELLED";
    case StatusCode::kUnknown: return "UNKNOWN";
    case StatusCode::kInvalidArgument: return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound: return "NOT_FOUND";
    case StatusCode::kAlreadyExists: return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied: return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition: return "FAILED_PRECONDITION";
    case StatusCode::kAborted: return "ABORTED";
    case StatusCode::kOutOfRange: return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented: return "UNIMPLEMENTED";
    case StatusCode::kInternal: return "INTERNAL";
    case StatusCode::kUnavailable: return "UNAVAILABLE";
    case StatusCode::kDataLoss: return "DATA_LOSS";
    case StatusCode::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

std::string MessageOf(const Status& status) {
  const bool says_field = status.field().empty() || status.message().find(status.field()) != std::string::npos;
  return says_field ? status.message() : status.field() + ": " + status.message();
}

void Translate(std::exception_ptr thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const Failure& failure) {
    const Status& status = failure.status();
    const py::object type = py::module_::import("glim.checkpoint").attr("CheckpointError");
    const py::object error =
        type(MessageOf(status), NameOf(status.code()), status.reason(), status.field(), status.fix());
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace

std::string TextOf(const Status& status) {
  return MessageOf(status) + (status.fix().empty() ? "" : " (" + status.fix() + ")");
}

void RegisterFailure() { py::register_exception_translator(&Translate); }

}  // namespace glim::checkpoint::python
