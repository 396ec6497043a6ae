#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/bench/checkpoint/bench.h"
#include "tests/bench/checkpoint/bench_data.h"

namespace glim::checkpoint::bench {

Result<nlohmann::ordered_json> BenchSave(const Setup& setup) {
  const Result<Model> model = Model::Create(setup);
  if (!model.ok()) return model.status();
  const BenchFolder folder(setup.dir);
  const Result<std::unique_ptr<Saver>> saver = MakeSaver(setup, folder);
  if (!saver.ok()) return saver.status();
  std::vector<double> durable, stall, copy, checksum, write, flush;
  IoReport io;
  for (std::uint32_t round = 0; round <= setup.rounds; ++round) {
    const Result<SaveReport> report = SaveAndWait(**saver, round + 1, *model);
    if (!report.ok()) return report.status();
    if (round == 0) continue;
    durable.push_back(static_cast<double>(report->durable_micros) / 1e3);
    stall.push_back(static_cast<double>(report->stall_micros) / 1e3);
    copy.push_back(static_cast<double>(report->copy_micros) / 1e3);
    checksum.push_back(static_cast<double>(report->checksum_micros) / 1e3);
    write.push_back(static_cast<double>(report->io.micros) / 1e3);
    flush.push_back(static_cast<double>(report->io.sync_micros) / 1e3);
    io = report->io;
  }
  nlohmann::ordered_json line = LineOf("save", setup, io);
  line["GBps"] = GBps(setup.bytes, Median(durable));
  line["best_GBps"] = GBps(setup.bytes, Least(durable));
  line["write_GBps"] = GBps(setup.bytes, Median(write));
  line["durable_ms"] = Median(durable);
  line["stall_ms"] = Median(stall);
  line["copy_ms"] = Median(copy);
  line["checksum_ms"] = Median(checksum);
  line["write_ms"] = Median(write);
  line["flush_ms"] = Median(flush);
  return line;
}

Result<nlohmann::ordered_json> BenchStall(const Setup& setup) {
  const Result<Model> model = Model::Create(setup);
  if (!model.ok()) return model.status();
  const Result<Memory> target = Memory::Create(setup.bytes);
  if (!target.ok()) return target.status();
  const BenchFolder folder(setup.dir);
  const Result<std::unique_ptr<Saver>> saver = MakeSaver(setup, folder);
  if (!saver.ok()) return saver.status();
  std::vector<double> stall, copy, bare, ratio;
  IoReport io;
  for (std::uint32_t round = 0; round <= setup.rounds; ++round) {
    const Result<SaveReport> report = SaveAndWait(**saver, round + 1, *model);
    if (!report.ok()) return report.status();
    const double memcpy_ms = MillisOf([&] { std::memcpy(target->bytes().data(), model->bytes().data(), setup.bytes); });
    if (round == 0) continue;
    stall.push_back(static_cast<double>(report->stall_micros) / 1e3);
    copy.push_back(static_cast<double>(report->copy_micros) / 1e3);
    bare.push_back(memcpy_ms);
    ratio.push_back(stall.back() / memcpy_ms);
    io = report->io;
  }
  nlohmann::ordered_json line = LineOf("stall", setup, io);
  line["stall_ms"] = Median(stall);
  line["copy_ms"] = Median(copy);
  line["memcpy_ms"] = Median(bare);
  line["of_memcpy"] = Median(ratio);
  line["best_of_memcpy"] = Least(stall) / Least(bare);
  return line;
}

}  // namespace glim::checkpoint::bench
