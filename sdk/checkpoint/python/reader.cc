#include "sdk/checkpoint/python/reader.h"

#include <pybind11/stl.h>

#include <optional>

#include "sdk/checkpoint/python/failure.h"

namespace glim::checkpoint::python {
namespace {

namespace py = pybind11;

std::vector<IdPair> VisibleIn(const std::string& path, std::optional<std::uint32_t> attempt) {
  const auto directory = ValueOrThrow(Directory::Open(path, ""));
  std::vector<IdPair> found;
  for (const CheckpointId id : ValueOrThrow(directory->Visible(attempt))) found.push_back(PairOf(id));
  return found;
}

// Without `is_told` the directory's rule finds the base; `is_elsewhere`: it came from memory.
std::optional<IdPair> BeginAttempt(const std::string& path, const std::string& job, std::uint32_t attempt, bool is_told,
                                   const std::optional<IdPair>& base, bool is_elsewhere) {
  const auto directory = ValueOrThrow(Directory::Open(path, job));
  const auto begin = [&]() -> Result<std::optional<CheckpointId>> {
    if (!is_told) return directory->BeginAttempt(attempt);
    if (!base) return directory->BeginAttemptFrom(attempt, std::nullopt);
    const CheckpointId told{base->first, base->second};
    return is_elsewhere ? directory->BeginAttemptFromElsewhere(attempt, told)
                        : directory->BeginAttemptFrom(attempt, told);
  };
  const std::optional<CheckpointId> decided = ValueOrThrow(begin());
  if (!decided) return std::nullopt;
  return PairOf(*decided);
}

}  // namespace

Reader::Reader(const std::string& path, std::uint32_t attempt, std::uint64_t step, const std::string& io) {
  LoaderOptions options;
  options.io.kind = IoKindNamed(io);
  const py::gil_scoped_release release;
  directory_ = ValueOrThrow(Directory::Open(path, ""));
  checkpoint_ = ValueOrThrow(OpenCheckpoint(*directory_, {attempt, step}, options));
}

Reader::Reader(std::shared_ptr<SourceHandle> source, std::uint32_t attempt, std::uint64_t step)
    : source_(std::move(source)) {
  const py::gil_scoped_release release;
  checkpoint_ = ValueOrThrow(OpenCheckpoint(source_->open(), {attempt, step}));
}

void Reader::CheckOpen() const {
  if (source_ != nullptr) static_cast<void>(source_->open());
}

std::vector<ArrayInfo> Reader::Arrays() const {
  std::vector<ArrayInfo> arrays;
  arrays.reserve(checkpoint_->manifest().tensors.size());
  for (const TensorEntry& tensor : checkpoint_->manifest().tensors) {
    arrays.emplace_back(tensor.info.name, SafetensorsNameOf(tensor.info.dtype), tensor.info.shape);
  }
  return arrays;
}

void Reader::Load(const std::vector<RangeArguments>& ranges) {
  CheckOpen();
  std::vector<LoadRange> wanted;
  wanted.reserve(ranges.size());
  for (const auto& [name, at, address, bytes] : ranges) {
    wanted.push_back({name, at, {reinterpret_cast<std::byte*>(address), bytes}});
  }
  const py::gil_scoped_release release;
  ThrowIfFailed(checkpoint_->Load(wanted).status());
}

void Reader::Verify() {
  CheckOpen();
  const py::gil_scoped_release release;
  ThrowIfFailed(checkpoint_->Verify());
}

void BindReader(py::module_& module) {
  py::class_<SourceHandle, std::shared_ptr<SourceHandle>>(module, "SourceHandle");
  py::class_<Reader>(module, "Reader")
      .def(py::init<const std::string&, std::uint32_t, std::uint64_t, const std::string&>())
      .def(py::init<std::shared_ptr<SourceHandle>, std::uint32_t, std::uint64_t>())
      .def("arrays",
           [](const Reader& reader) {
             // Shapes as tuples, as numpy and torch have them.
             py::list arrays;
             for (const auto& [name, type, shape] : reader.Arrays()) {
               arrays.append(py::make_tuple(name, type, py::tuple(py::cast(shape))));
             }
             return arrays;
           })
      .def_property_readonly("metadata", &Reader::metadata)
      .def("matching", &Reader::Matching)
      .def("load", &Reader::Load)
      .def("verify", &Reader::Verify);
  module.def("visible", &VisibleIn, py::call_guard<py::gil_scoped_release>());
  module.def("begin_attempt", &BeginAttempt, py::call_guard<py::gil_scoped_release>());
}

}  // namespace glim::checkpoint::python
