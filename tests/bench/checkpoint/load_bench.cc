#include <nlohmann/json.hpp>
#include <utility>

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "tests/bench/checkpoint/bench.h"
#include "tests/bench/checkpoint/bench_data.h"

namespace glim::checkpoint::bench {
namespace {

struct Loaded {
  double open_ms = 0;
  double load_ms = 0;
  IoReport io;
};

// Opens the checkpoint anew and loads `ranges`.
Result<Loaded> Load(const Setup& setup, const BenchFolder& folder, const std::vector<LoadRange>& ranges) {
  const Result<std::unique_ptr<Directory>> directory = Directory::Open(folder.path(), "");
  if (!directory.ok()) return directory.status();
  const Result<std::vector<CheckpointId>> visible = (*directory)->Visible();
  if (!visible.ok()) return visible.status();
  if (setup.dropped) {
    folder.DropFromCache();
  } else {
    folder.ReadIntoCache();
  }
  Loaded loaded;
  Result<std::unique_ptr<Checkpoint>> checkpoint = Status(StatusCode::kInternal, "not opened");
  loaded.open_ms = MillisOf([&] { checkpoint = OpenCheckpoint(**directory, visible->back(), {setup.io}); });
  if (!checkpoint.ok()) return checkpoint.status();
  Result<IoReport> report = Status(StatusCode::kInternal, "not loaded");
  loaded.load_ms = MillisOf([&] { report = (*checkpoint)->Load(ranges); });
  if (!report.ok()) return report.status();
  loaded.io = *report;
  return loaded;
}

}  // namespace

Result<nlohmann::ordered_json> BenchLoad(const Setup& setup) {
  const Result<Model> model = Model::Create(setup);
  if (!model.ok()) return model.status();
  const BenchFolder folder(setup.dir);
  {
    const Result<std::unique_ptr<Saver>> saver = MakeSaver(setup, folder);
    if (!saver.ok()) return saver.status();
    const Result<SaveReport> report = SaveAndWait(**saver, 1, *model);
    if (!report.ok()) return report.status();
  }
  // Back to where they came from: the memory is there, and whatever is wrong is seen by the checksums.
  std::vector<LoadRange> all;
  for (const SaveTensor& tensor : model->tensors()) {
    const auto offset = static_cast<std::size_t>(tensor.data.data() - model->bytes().data());
    all.push_back({tensor.info.name, 0, model->bytes().subspan(offset, tensor.data.size())});
  }
  const std::vector<LoadRange> one{all[all.size() / 2]};
  std::vector<double> open, whole, single;
  IoReport io;
  for (std::uint32_t round = 0; round <= setup.rounds; ++round) {
    const Result<Loaded> everything = Load(setup, folder, all);
    if (!everything.ok()) return everything.status();
    const Result<Loaded> alone = Load(setup, folder, one);
    if (!alone.ok()) return alone.status();
    if (round == 0) continue;
    open.push_back(everything->open_ms);
    whole.push_back(everything->open_ms + everything->load_ms);
    single.push_back(alone->open_ms + alone->load_ms);
    io = everything->io;
  }
  nlohmann::ordered_json line = LineOf("load", setup, io);
  line["from"] = setup.dropped ? "disk" : "page cache";
  line["GBps"] = GBps(setup.bytes, Median(whole));
  line["best_GBps"] = GBps(setup.bytes, Least(whole));
  line["load_ms"] = Median(whole);
  line["open_ms"] = Median(open);
  line["one_tensor_bytes"] = one[0].into.size();
  line["one_tensor_ms"] = Median(single);
  // Beyond the time that its bytes take at the whole load's rate.
  line["one_tensor_over_ms"] =
      Median(single) - static_cast<double>(one[0].into.size()) / static_cast<double>(setup.bytes) * Median(whole);
  return line;
}

}  // namespace glim::checkpoint::bench
