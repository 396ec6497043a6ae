#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "sdk/io/unique_fd.h"
#include "tests/bench/checkpoint/bench.h"
#include "tests/bench/checkpoint/bench_data.h"

namespace glim::checkpoint::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTrainerCore = 0;
constexpr int kWriterCore = 1;
constexpr std::size_t kSide = 160;                           // of the step's matrices
constexpr std::size_t kStreamFloats = std::size_t{1} << 20;  // 4 MiB that each step reads and writes
constexpr auto kAlone = std::chrono::milliseconds(500);

bool PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

// A step of a small model on the processor: products of matrices that stay in the caches, then a sweep over parameters
// that do not.
class Trainer {
 public:
  // In microseconds.
  double Step() {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t k = 0; k < kSide; ++k) {
        for (std::size_t j = 0; j < kSide; ++j) c_[i * kSide + j] += a_[i * kSide + k] * b_[k * kSide + j];
      }
    }
    for (float& x : parameters_) x = x * 0.999f + c_[0] * 1e-9f;
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  // Steps that began and ended while `going`.
  void StepWhile(const std::function<bool()>& going, std::vector<double>& times) {
    while (going()) {
      const double took = Step();
      if (going()) times.push_back(took);
    }
  }

 private:
  std::vector<float> a_ = std::vector<float>(kSide * kSide, 0.5f);
  std::vector<float> b_ = std::vector<float>(kSide * kSide, 0.25f);
  std::vector<float> c_ = std::vector<float>(kSide * kSide);
  std::vector<float> parameters_ = std::vector<float>(kStreamFloats, 1.0f);
};

// What a background write is at the least: the same bytes by the same writer, and as much processor time beside it,
// which touches no memory.
class DummyWriter {
 public:
  static Result<DummyWriter> Create(const Setup& setup, const BenchFolder& folder) {
    Result<Memory> image = Memory::Create(setup.bytes);
    if (!image.ok()) return image.status();
    Result<std::unique_ptr<FileWriter>> writer = MakeFileWriter(setup.io, folder.path());
    if (!writer.ok()) return writer.status();
    (*writer)->Register(image->bytes());
    return DummyWriter(std::move(*image), std::move(*writer), setup.bytes, folder.path());
  }

  // On the writer's core; `busy` is true as long as it works.
  Status Write(std::int64_t processor_micros, std::atomic<bool>& busy) {
    const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::jthread burner([&] {
      const auto end = Clock::now() + std::chrono::microseconds(processor_micros);
      while (Clock::now() < end) {
      }
    });
    const Result<IoReport> report = writer_->Write(folder.get(), "dummy", image_.bytes().first(bytes_));
    busy = false;
    ::unlinkat(folder.get(), "dummy", 0);
    return report.ok() ? Status::Ok() : report.status();
  }

 private:
  DummyWriter(Memory image, std::unique_ptr<FileWriter> writer, std::uint64_t bytes, std::string folder)
      : image_(std::move(image)), writer_(std::move(writer)), bytes_(bytes), folder_(std::move(folder)) {}

  Memory image_;
  std::unique_ptr<FileWriter> writer_;
  std::uint64_t bytes_;
  std::string folder_;
};

struct StepTimes {
  std::vector<double> alone, saving, dummy;
};

// One turn of each.
Result<IoReport> Turn(Trainer& trainer, Saver& saver, DummyWriter& dummy, std::uint64_t step, const Model& model,
                      StepTimes& times) {
  saver.Drain();
  // A processor that was idle is slow at first.
  std::vector<double> warming;
  for (std::vector<double>* const into : {&warming, &times.alone}) {
    const auto end = Clock::now() + kAlone;
    trainer.StepWhile([&] { return Clock::now() < end; }, *into);
  }

  const Result<std::shared_ptr<SaveHandle>> handle = saver.SaveAsync(step, model.tensors(), {}, {});
  if (!handle.ok()) return handle.status();
  trainer.StepWhile([&] { return !(*handle)->done(); }, times.saving);
  const Result<SaveReport> report = (*handle)->Wait();
  if (!report.ok()) return report.status();
  saver.Drain();

  std::atomic<bool> busy = true;
  Status written;
  std::jthread writer([&] {
    PinTo(kWriterCore);
    written = dummy.Write(report->checksum_micros, busy);
  });
  trainer.StepWhile([&] { return busy.load(); }, times.dummy);
  writer.join();
  if (!written.ok()) return written;
  return report->io;
}

}  // namespace

Result<nlohmann::ordered_json> BenchStep(const Setup& setup) {
  const Result<Model> model = Model::Create(setup);
  if (!model.ok()) return model.status();
  const BenchFolder folder(setup.dir);
  // The saver's thread has the core of whoever made it.
  if (!PinTo(kWriterCore)) return Status(StatusCode::kUnavailable, "two processors are needed, 0 and 1");
  const Result<std::unique_ptr<Saver>> saver = MakeSaver(setup, folder);
  if (!saver.ok()) return saver.status();
  if (!PinTo(kTrainerCore)) return Status(StatusCode::kUnavailable, "two processors are needed, 0 and 1");
  Result<DummyWriter> dummy = DummyWriter::Create(setup, folder);
  if (!dummy.ok()) return dummy.status();

  Trainer trainer;
  StepTimes times;
  std::vector<double> slowdown, dummy_slowdown, over_dummy;
  IoReport io;
  for (std::uint32_t round = 0; round <= setup.rounds; ++round) {
    times = {};
    const Result<IoReport> report = Turn(trainer, **saver, *dummy, round + 1, *model, times);
    if (!report.ok()) return report.status();
    if (round == 0) continue;
    if (times.saving.empty() || times.dummy.empty()) {
      return Status(StatusCode::kOutOfRange, "the write was over before a step was: use more --bytes");
    }
    slowdown.push_back(100 * (Median(times.saving) / Median(times.alone) - 1));
    dummy_slowdown.push_back(100 * (Median(times.dummy) / Median(times.alone) - 1));
    over_dummy.push_back(100 * (Median(times.saving) / Median(times.dummy) - 1));
    io = *report;
  }
  nlohmann::ordered_json line = LineOf("step", setup, io);
  line["slowdown_percent"] = Median(slowdown);
  line["dummy_slowdown_percent"] = Median(dummy_slowdown);
  line["over_dummy_percent"] = Median(over_dummy);
  line["step_us"] = Median(times.alone);
  line["steps_beside_a_save"] = times.saving.size();
  return line;
}

}  // namespace glim::checkpoint::bench
