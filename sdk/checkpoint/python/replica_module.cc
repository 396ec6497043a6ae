// The extension glim._replica, what glim/replica.py is a front of: makes copies of checkpoints in neighbours' memory
// and reads them. Apart from glim._checkpoint, which works with what this makes, because UCX comes with it: loading
// that changes a process, and most jobs do without.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "sdk/checkpoint/python/failure.h"
#include "sdk/checkpoint/python/reader.h"
#include "sdk/checkpoint/replica/replica.h"
#include "sdk/checkpoint/replica/replica_service.h"

namespace glim::checkpoint::python {
namespace {

namespace py = pybind11;

// A ReplicaSource with an end that the script chooses: what it has opened stands in a writer's way. One thread.
class PyReplicaSource final : public SourceHandle {
 public:
  PyReplicaSource(const std::vector<std::string>& peers, const ReplicaOptions& options) {
    const py::gil_scoped_release release;
    source_ = ValueOrThrow(OpenReplicaSource(peers, options));
  }
  ~PyReplicaSource() override { Close(); }
  PyReplicaSource(const PyReplicaSource&) = delete;
  PyReplicaSource& operator=(const PyReplicaSource&) = delete;

  ReplicaSource& open() const override {
    if (source_ == nullptr) throw Failure(Status(StatusCode::kFailedPrecondition, "the ReplicaSource is closed"));
    return *source_;
  }

  std::vector<IdPair> Whole() const {
    std::vector<IdPair> found;
    for (const CheckpointId id : ValueOrThrow(open().Whole())) found.emplace_back(id.attempt, id.step);
    return found;
  }

  // Again: nothing happens.
  void Close() {
    const py::gil_scoped_release release;
    source_.reset();
  }

 private:
  std::unique_ptr<ReplicaSource> source_;  // null once closed
};

std::shared_ptr<ReplicaSink> MakeWriter(const std::string& peer, const ReplicaOptions& options) {
  return ValueOrThrow(MakeReplicaWriter(peer, options));
}

void BindOptions(py::module_& module) {
  py::class_<ReplicaOptions>(module, "ReplicaOptions")
      .def(py::init<>())
      .def_readwrite("token", &ReplicaOptions::token)
      .def_readwrite("attempt", &ReplicaOptions::attempt)
      .def_readwrite("rank", &ReplicaOptions::rank)
      .def_readwrite("world", &ReplicaOptions::world)
      .def_readwrite("tls", &ReplicaOptions::ucx_tls)
      .def_readwrite("device", &ReplicaOptions::ucx_net_devices)
      .def_readwrite("service_level", &ReplicaOptions::service_level)
      .def_property(
          "timeout_ms", [](const ReplicaOptions& o) { return o.timeout.ms; },
          [](ReplicaOptions& o, std::int64_t ms) { o.timeout = Milliseconds(ms); })
      .def_property(
          "pause_ms", [](const ReplicaOptions& o) { return o.pause.ms; },
          [](ReplicaOptions& o, std::int64_t ms) { o.pause = Milliseconds(ms); });
}

}  // namespace
}  // namespace glim::checkpoint::python

PYBIND11_MODULE(_replica, module) {
  using namespace glim::checkpoint::python;
  namespace py = pybind11;
  py::module_::import("glim._checkpoint");  // knows ReplicaSink and SourceHandle
  RegisterFailure();
  BindOptions(module);
  py::class_<PyReplicaSource, SourceHandle, std::shared_ptr<PyReplicaSource>>(module, "ReplicaSource")
      .def(py::init<const std::vector<std::string>&, const glim::checkpoint::ReplicaOptions&>())
      .def("whole", &PyReplicaSource::Whole, py::call_guard<py::gil_scoped_release>())
      .def("holders", [](const PyReplicaSource& source) { return source.open().holders(); })
      .def_property_readonly("failures", [](const PyReplicaSource& source) { return source.open().failures(); })
      .def("close", &PyReplicaSource::Close);
  module.def("make_writer", &MakeWriter);
  module.def("is_built", &glim::checkpoint::ReplicaIsBuilt);
}
