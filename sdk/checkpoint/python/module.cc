// The extension glim._checkpoint. glim/checkpoint.py checks arguments and knows arrays and tensors; here are addresses.
#include <pybind11/pybind11.h>

#include <cstdint>

#include "sdk/checkpoint/python/failure.h"
#include "sdk/checkpoint/python/reader.h"
#include "sdk/checkpoint/python/saver.h"
#include "sdk/device/runtime.h"

namespace {

namespace py = pybind11;

// Of an object with the buffer protocol. It stays there as long as the object is exported (a memoryview of it lives).
std::uintptr_t AddressOf(const py::object& object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const auto address = reinterpret_cast<std::uintptr_t>(view.buf);
  PyBuffer_Release(&view);
  return address;
}

// Whether arrays on a device can be saved: CUDA's runtime is loaded, by a name that is known.
bool HasDeviceRuntime() { return glim::device::Runtime::Loaded().ok(); }

}  // namespace

PYBIND11_MODULE(_checkpoint, module) {
  using namespace glim::checkpoint::python;
  RegisterFailure();
  BindSaver(module);
  BindReader(module);
  module.def("address_of", &AddressOf);
  module.def("has_device_runtime", &HasDeviceRuntime);
}
