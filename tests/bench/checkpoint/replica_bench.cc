// A copy into a neighbour's memory and back, beside bare loops of UCX's puts and gets, by turns.
#include <nlohmann/json.hpp>
#include <vector>

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/replica/testing/replica.h"
#include "tests/bench/checkpoint/bench.h"
#include "tests/bench/checkpoint/bench_data.h"
#include "tests/bench/checkpoint/raw_put.h"

namespace glim::checkpoint::bench {
namespace {

constexpr char kTls[] = "tcp";

ReplicaOptions OptionsOf() {
  ReplicaOptions options = testing::OptionsFor(kTls, 1, 0, 1);
  options.block_bytes = ReplicaOptions().block_bytes;
  return options;
}

struct PutTimes {
  std::vector<double> put, raw_put, get, raw_get;  // ms
};

// One save into the neighbour and one load from it, each beside its bare loop.
Status RunRound(const std::string& peer, ReplicaSink& writer, RawPeer& raw, CheckpointId id, std::uint64_t bytes,
                std::vector<std::byte>& into, PutTimes& times) {
  const ReplicaOptions options = OptionsOf();
  const testing::Share share = testing::MakeShare(id, 0, 1, bytes);
  const Result<double> raw_put = raw.Put(share.image, options.block_bytes, options.depth);
  if (!raw_put.ok()) return raw_put.status();
  writer.Register(share.image);
  const Result<ReplicaReport> sent = testing::Send(writer, share);
  writer.Forget();
  if (!sent.ok()) return sent.status();

  const Result<double> raw_get = raw.Get(into, options.block_bytes, options.depth);
  if (!raw_get.ok()) return raw_get.status();
  Status loaded;
  const double get = MillisOf([&] {
    auto source = OpenReplicaSource({peer}, options);
    auto checkpoint = source.ok() ? OpenCheckpoint(**source, id) : source.status();
    const LoadRange range{"w", 0, into};
    loaded = checkpoint.ok() ? (*checkpoint)->Load({&range, 1}).status() : checkpoint.status();
  });
  if (!loaded.ok()) return loaded;
  times.put.push_back(static_cast<double>(sent->micros) / 1000);
  times.raw_put.push_back(*raw_put);
  times.get.push_back(get);
  times.raw_get.push_back(*raw_get);
  return Status::Ok();
}

double MedianRatio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return Median(ratios);
}

}  // namespace

Result<nlohmann::ordered_json> BenchReplica(const Setup& setup) {
  // Room for the header too.
  auto raw = RawPeer::Start(kTls, setup.bytes + (std::uint64_t{1} << 20));
  if (!raw.ok()) return raw.status();
  const testing::ProcessService service(kTls, std::to_string(3 * setup.bytes + (std::uint64_t{64} << 20)));
  auto writer = MakeReplicaWriter(service.address(), OptionsOf());
  if (!writer.ok()) return writer.status();
  std::vector<std::byte> into(setup.bytes);
  PutTimes times;
  // The first two touch the service's memory, and the raw peer's, for the first time.
  constexpr std::uint64_t kWarmUps = 2;
  for (std::uint64_t step = 1; step <= setup.rounds + kWarmUps; ++step) {
    if (step == kWarmUps + 1) times = PutTimes();
    const Status status = RunRound(service.address(), **writer, **raw, {1, step}, setup.bytes, into, times);
    if (!status.ok()) return status;
  }
  return nlohmann::ordered_json{{"bench", "replica"},
                                {"bytes", setup.bytes},
                                {"rounds", setup.rounds},
                                {"ucx_tls", kTls},
                                {"save_GBps", GBps(setup.bytes, Median(times.put))},
                                {"raw_put_GBps", GBps(setup.bytes, Median(times.raw_put))},
                                {"save_vs_raw", MedianRatio(times.raw_put, times.put)},
                                {"restore_GBps", GBps(setup.bytes, Median(times.get))},
                                {"raw_get_GBps", GBps(setup.bytes, Median(times.raw_get))},
                                {"restore_vs_raw", MedianRatio(times.raw_get, times.get)}};
}

}  // namespace glim::checkpoint::bench
