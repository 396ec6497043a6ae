#include "sdk/checkpoint/python/failure.h"

#include <pybind11/pybind11.h>

#include <exception>

#include "sdk/base/status_name.h"

namespace glim::checkpoint::python {
namespace {

namespace py = pybind11;

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
        type(MessageOf(status), StatusName(status.code()), status.reason(), status.field(), status.fix());
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

}  // namespace

std::string TextOf(const Status& status) {
  return MessageOf(status) + (status.fix().empty() ? "" : " (" + status.fix() + ")");
}

void RegisterFailure() { py::register_exception_translator(&Translate); }

}  // namespace glim::checkpoint::python
