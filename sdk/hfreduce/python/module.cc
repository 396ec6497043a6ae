// The extension glim._hfreduce. glim/hfreduce.py checks arguments and knows arrays and tensors; here are addresses.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/hfreduce/environment/make_communicator.h"
#include "sdk/hfreduce/python/group.h"

namespace glim::hfreduce::python {
namespace {

namespace py = pybind11;

template <typename Value>
Value Known(const char* argument, const std::string& name, std::optional<Value> value) {
  if (value) return *value;
  throw py::value_error(std::string(argument) + ": '" + name + "' is unknown");
}

DType TypeNamed(const std::string& name) { return Known("dtype", name, ReducibleDTypeNamed(name)); }
ReduceOp OpNamed(const std::string& name) { return Known("op", name, ReduceOpNamed(name)); }

// Of an object with the buffer protocol. It stays there as long as the object is exported (a memoryview of it lives).
std::uintptr_t AddressOf(const py::object& object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const auto address = reinterpret_cast<std::uintptr_t>(view.buf);
  PyBuffer_Release(&view);
  return address;
}

// The table of element types, for the test that glim/dtypes.py says the same. False at the end: cannot be reduced.
py::list DTypes() {
  py::list rows;
  for (const DTypeRow& row : kDTypeTable) {
    rows.append(py::make_tuple(row.name, row.bytes, row.safetensors, row.torch, row.numpy, IsReducible(row.type)));
  }
  return rows;
}

std::shared_ptr<Group> FromVariables(const std::map<std::string, std::string>& variables,
                                     const CommunicatorOptions& options) {
  const VariableLookup lookup = [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
  };
  const Result<Environment> environment = EnvironmentOf(lookup, options);
  if (!environment.ok()) throw Failure(environment.status());
  return Group::Make(*environment);
}

// `zones`: of each zone its nodes' numbers of ranks. No gateways: the first node of each zone.
std::shared_ptr<Group> FromArguments(const std::vector<std::vector<std::uint32_t>>& zones,
                                     const std::vector<std::uint32_t>& gateways, std::uint32_t rank,
                                     const std::string& host, std::uint16_t port, const CommunicatorOptions& options) {
  Environment environment{
      .rank = rank, .store_host = host, .store_port = port, .secret_file = SecretFileOfProcess(), .options = options};
  Topology& topology = environment.topology;
  for (std::uint32_t zone = 0; zone < zones.size(); ++zone) {
    topology.gateways.push_back(static_cast<std::uint32_t>(topology.nodes.size()));
    for (const std::uint32_t local_ranks : zones[zone]) topology.nodes.push_back({zone, local_ranks});
  }
  if (!gateways.empty()) topology.gateways = gateways;
  return Group::Make(environment);
}

void BindOptions(py::module_& module) {
  py::class_<CommunicatorOptions>(module, "Options")
      .def(py::init<>())
      .def_readwrite("id", &CommunicatorOptions::id)
      .def_readwrite("transport", &CommunicatorOptions::transport)
      .def_readwrite("listen", &CommunicatorOptions::listen)
      .def_readwrite("congestion", &CommunicatorOptions::congestion)
      .def_readwrite("device", &CommunicatorOptions::device)
      .def_readwrite("cuda_runtime", &CommunicatorOptions::cuda_runtime)
      .def_readwrite("service_level", &CommunicatorOptions::service_level)
      .def_property(
          "timeout_ms", [](const CommunicatorOptions& o) { return o.timeout.ms; },
          [](CommunicatorOptions& o, std::int64_t ms) { o.timeout = Milliseconds(ms); });
}

void BindGroup(py::module_& module) {
  py::class_<Operation>(module, "Handle", "One operation in flight.")
      .def("wait", &Operation::Wait, "Ends when the operation has, or raises HfreduceError.")
      .def("done", &Operation::Done, "Whether wait() would return, or raise, at once.");
  py::class_<Memory>(module, "Memory").def(py::init<std::uintptr_t, std::size_t, py::object, int, std::uintptr_t>());
  py::class_<Group, std::shared_ptr<Group>>(module, "Group")
      .def("all_reduce", [](Group& group, const Memory& in, const Memory& out, const std::string& type,
                            const std::string& op) { return group.AllReduce(in, out, TypeNamed(type), OpNamed(op)); })
      .def("reduce",
           [](Group& group, const Memory& in, const Memory& out, const std::string& type, const std::string& op,
              std::uint32_t root) { return group.Reduce(in, out, TypeNamed(type), OpNamed(op), root); })
      .def("broadcast", &Group::Broadcast)
      .def("all_gather", &Group::AllGather)
      .def("reduce_scatter",
           [](Group& group, const Memory& in, const Memory& out, const std::string& type, const std::string& op) {
             return group.ReduceScatter(in, out, TypeNamed(type), OpNamed(op));
           })
      .def("barrier", &Group::Barrier)
      .def("abort", &Group::Abort)
      .def("close", &Group::Close)
      .def("bytes_sent_to", &Group::BytesSentTo)
      .def_property_readonly("rank", &Group::rank)
      .def_property_readonly("size", &Group::size)
      .def_property_readonly("node", &Group::node)
      .def_property_readonly("nodes", &Group::nodes)
      .def_property_readonly("transport", &Group::transport);
}

}  // namespace
}  // namespace glim::hfreduce::python

PYBIND11_MODULE(_hfreduce, module) {
  using namespace glim::hfreduce::python;
  pybind11::register_exception<Failure>(module, "HfreduceError", PyExc_RuntimeError);
  BindOptions(module);
  BindGroup(module);
  module.def("address_of", &AddressOf);
  module.def("dtypes", &DTypes);
  module.def("from_variables", &FromVariables);
  module.def("from_arguments", &FromArguments);
}
