#include "sdk/checkpoint/python/saver.h"

#include <pybind11/stl.h>
#include <unistd.h>

#include <chrono>

#include "sdk/checkpoint/python/failure.h"

namespace glim::checkpoint::python {
namespace {

namespace py = pybind11;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Placement PlacementNamed(const std::string& name) {
  if (name == "rows") return Placement::kRows;
  return name == "replicated" ? Placement::kReplicated : Placement::kOwn;
}

SaveTensor TensorOf(const ArrayArguments& array) {
  const auto& [name, type, shape, placement, first, count, address, bytes, on_device] = array;
  const std::optional<DType> dtype = DTypeOfSafetensors(type);
  if (!dtype) throw py::value_error(name + ": there is no type " + type);
  SaveTensor tensor;
  tensor.info = {name, *dtype, shape};
  tensor.placement = PlacementNamed(placement);
  tensor.rows = {first, count};
  tensor.data = {reinterpret_cast<const std::byte*>(address), bytes};
  tensor.on_device = on_device;
  return tensor;
}

void BindOptions(py::module_& module) {
  py::class_<SaverOptions>(module, "SaverOptions")
      .def(py::init<>())
      .def_readwrite("path", &SaverOptions::path)
      .def_readwrite("job", &SaverOptions::job)
      .def_readwrite("attempt", &SaverOptions::attempt)
      .def_readwrite("rank", &SaverOptions::rank)
      .def_readwrite("world", &SaverOptions::world)
      .def_readwrite("writers_per_target", &SaverOptions::writers_per_target)
      .def_readwrite("parts_timeout_ms", &SaverOptions::parts_timeout_ms)
      .def_readwrite("replica", &SaverOptions::replica)
      .def_property(
          "when_busy", [](const SaverOptions& o) { return o.when_busy == WhenBusy::kSkip ? "skip" : "wait"; },
          [](SaverOptions& o, const std::string& name) {
            if (name != "wait" && name != "skip")
              throw py::value_error("when_busy: '" + name + "' is not wait or skip");
            o.when_busy = name == "skip" ? WhenBusy::kSkip : WhenBusy::kWait;
          })
      .def_property(
          "keep", [](const SaverOptions& o) { return o.keep.newest; },
          [](SaverOptions& o, std::uint32_t keep) { o.keep.newest = keep; })
      .def_property(
          "keep_max_age_ms", [](const SaverOptions& o) { return o.keep.max_age_ms; },
          [](SaverOptions& o, std::int64_t ms) { o.keep.max_age_ms = ms; })
      .def_property(
          "io", [](const SaverOptions& o) { return std::string(NameOf(o.io.kind)); },
          [](SaverOptions& o, const std::string& name) { o.io.kind = IoKindNamed(name); })
      .def_property(
          "direct", [](const SaverOptions& o) { return o.io.direct; },
          [](SaverOptions& o, bool direct) { o.io.direct = direct; });
}

// None: there is none, it has failed, or it is still on its way.
std::optional<ReplicaReport> ReplicaOf(const SaveReport& report) {
  if (!report.replica || !report.replica->ok()) return std::nullopt;
  return **report.replica;
}

std::string ReplicaErrorOf(const SaveReport& report) {
  return !report.replica || report.replica->ok() ? "" : TextOf(report.replica->status());
}

// What _replica makes, and this module uses.
void BindReplica(py::module_& module) {
  py::class_<ReplicaSink, std::shared_ptr<ReplicaSink>>(module, "ReplicaSink");
  py::class_<ReplicaReport>(module, "ReplicaReport", "Where a save's copy is, and what it took.")
      .def_readonly("peer", &ReplicaReport::peer)
      .def_readonly("bytes", &ReplicaReport::bytes)
      .def_readonly("micros", &ReplicaReport::micros);
}

void BindReport(py::module_& module) {
  py::class_<SaveReport>(module, "SaveReport", "How a save went; times in microseconds, see SaveHandle.wait().")
      .def_readonly("step", &SaveReport::step)
      .def_readonly("path", &SaveReport::path)
      .def_readonly("bytes", &SaveReport::bytes)
      .def_readonly("stall_micros", &SaveReport::stall_micros)
      .def_readonly("copy_micros", &SaveReport::copy_micros)
      .def_readonly("checksum_micros", &SaveReport::checksum_micros)
      .def_readonly("queued_micros", &SaveReport::queued_micros)
      .def_readonly("durable_micros", &SaveReport::durable_micros)
      .def_readonly("made_room", &SaveReport::made_room)
      .def_property_readonly("replica", &ReplicaOf)
      .def_property_readonly("replica_error", &ReplicaErrorOf)
      .def_property_readonly("io", [](const SaveReport& report) { return std::string(NameOf(report.io.kind)); })
      .def_property_readonly("direct", [](const SaveReport& report) { return report.io.direct; });
}

}  // namespace

IdPair PairOf(CheckpointId id) { return {id.attempt, id.step}; }

IoKind IoKindNamed(const std::string& name) {
  for (const IoKind kind : {IoKind::kAuto, IoKind::kUring, IoKind::kPwrite, IoKind::kUsrbio}) {
    if (name == NameOf(kind)) return kind;
  }
  throw py::value_error("io: '" + name + "' is none of auto, io_uring, pwrite, usrbio");
}

PySaver::PySaver(const SaverOptions& options) : world_(options.world), process_(::getpid()) {
  const py::gil_scoped_release release;
  SaverOptions all = options;
  all.compute_stream = [this](int device) {
    const auto found = streams_.find(device);
    return found == streams_.end() ? nullptr : reinterpret_cast<void*>(found->second);
  };
  saver_ = ValueOrThrow(Saver::Create(std::move(all), NowMs));
  if (const std::optional<CheckpointId>& base = saver_->base()) base_ = PairOf(*base);
}

PySaver::~PySaver() {
  if (::getpid() == process_) {
    Close();
  } else {
    static_cast<void>(saver_.release());
  }
}

std::shared_ptr<SaveHandle> PySaver::SaveAsync(std::uint64_t step, const std::vector<ArrayArguments>& arrays,
                                               const std::map<std::string, std::string>& metadata,
                                               const StreamsByDevice& streams) {
  if (!saver_) throw Failure(Status(StatusCode::kFailedPrecondition, "the Checkpointer is closed"));
  if (::getpid() != process_) {
    throw Failure(Status(StatusCode::kFailedPrecondition, "the Checkpointer is of the process that forked this one"));
  }
  std::vector<SaveTensor> tensors;
  tensors.reserve(arrays.size());
  for (const ArrayArguments& array : arrays) tensors.push_back(TensorOf(array));
  streams_ = streams;
  const py::gil_scoped_release release;
  return ValueOrThrow(saver_->SaveAsync(step, tensors, metadata, {}));
}

void PySaver::Close() {
  const py::gil_scoped_release release;
  saver_.reset();
}

void BindSaver(py::module_& module) {
  BindReplica(module);
  BindOptions(module);
  BindReport(module);
  py::class_<SaveHandle, std::shared_ptr<SaveHandle>>(module, "SaveHandle")
      .def("done", &SaveHandle::done)
      .def(
          "wait", [](SaveHandle& handle) { return ValueOrThrow(handle.WaitDurable()); },
          py::call_guard<py::gil_scoped_release>())
      .def(
          "wait_for_replica", [](SaveHandle& handle) { return ValueOrThrow(handle.Wait()); },
          py::call_guard<py::gil_scoped_release>());
  py::class_<PySaver>(module, "Saver")
      .def(py::init<const SaverOptions&>())
      .def("save_async", &PySaver::SaveAsync)
      .def("close", &PySaver::Close)
      .def_property_readonly("base", &PySaver::base)
      .def_property_readonly("world", &PySaver::world);
}

}  // namespace glim::checkpoint::python
