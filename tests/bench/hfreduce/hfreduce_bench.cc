// hfreduce-bench: all ranks of a communicator as processes of this machine, checked and timed. One JSON line.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <set>
#include <string>

#include "tests/bench/hfreduce/bench_run.h"
#include "tests/bench/hfreduce/switch_sweep.h"

namespace {

void AddMemoryOptions(CLI::App& app, glim::hfreduce::bench::Setup& setup) {
  app.add_option(
         "--memory", setup.memory,
         "shared: buffers from Communicator::Allocate; private: any others; device: on a GPU, each rank's on the "
         "next one")
      ->check(CLI::IsMember(std::set<std::string>{"shared", "private", "device"}))
      ->capture_default_str();
  app.add_option("--cuda-runtime", setup.cuda_runtime,
                 "with --memory device: path of libcudart.so (none: as the loader finds it)");
  app.add_option("--result", setup.result, "copied: into every rank's buffer; shared: one for the node (one node)")
      ->check(CLI::IsMember(std::set<std::string>{"copied", "shared"}))
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace glim::hfreduce;
  bench::Setup setup;
  CLI::App app("Times a collective of hfreduce between processes of this machine and checks its result",
               "hfreduce-bench");
  std::string dtype = "fp32", op = "sum", bytes = "1MiB";
  app.add_option("--nodes", setup.nodes, "nodes")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--local", setup.local, "processes on each node")->check(CLI::Range(1, 32))->capture_default_str();
  app.add_option("--zones", setup.zones, "zones that the nodes are split over")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  app.add_option("--transport", setup.transport, "between nodes (one node: shared memory alone, as shm says)")
      ->check(CLI::IsMember(std::set<std::string>{"auto", "shm", "tcp", "ucx", "verbs"}))
      ->capture_default_str();
  app.add_option("--congestion", setup.congestion,
                 "TCP congestion control of the sockets: reno, bbr; none: the system's");
  app.add_option("--bytes", bytes, "of each rank's buffer: 1024, 64KiB, 186MiB")->capture_default_str();
  app.add_option("--dtype", dtype, "fp32 fp64 fp16 bf16 fp8_e4m3 fp8_e5m2 int32 int64")->capture_default_str();
  app.add_option("--op", op, "sum average min max product")->capture_default_str();
  app.add_option("--iters", setup.iterations, "timed")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--warmup", setup.warmup, "not timed")->check(CLI::Range(0, 100000))->capture_default_str();
  AddMemoryOptions(app, setup);
  app.add_flag("--netns", setup.netns, "each node in a network namespace of its own (root)");
  app.add_option("--zone-mbit", setup.zone_mbit, "with --netns: rate of the link between the zones, each way");
  app.add_option("--latency-path-max", setup.latency_path_bytes_max,
                 "bytes up to which the latency path is taken, at most 1048576 (the communicator's own)");
  bool find_switch = false;
  app.add_flag("--switch", find_switch,
               "both ways over 1 KiB to 1 MiB, and where the latency path stops being quicker");
  bool json = true;
  app.add_flag("--json", json, "one line of it, as always");
  CLI11_PARSE(app, argc, argv);

  const auto type = ReducibleDTypeNamed(dtype);
  const auto operation = ReduceOpNamed(op);
  const CLI::AsSizeValue size(false);
  if (!type || !operation) {
    std::cerr << "hfreduce-bench: unknown " << (type ? "--op " + op : "--dtype " + dtype) << "; see --help\n";
    return 2;
  }
  try {
    size(bytes);
    setup.bytes = std::stoull(bytes);
  } catch (const std::exception&) {
    std::cerr << "hfreduce-bench: --bytes '" << bytes << "' is no size; write 1024, 64KiB or 186MiB\n";
    return 2;
  }
  setup.type = *type;
  setup.op = *operation;
  if (find_switch && setup.nodes == 1) {
    std::cerr << "hfreduce-bench: --switch: one node has one way; use --nodes 2 or more\n";
    return 2;
  }
  const glim::Result<std::string> line = find_switch ? bench::MeasureSwitch(setup) : bench::Run(setup);
  if (!line.ok()) {
    std::cerr << "hfreduce-bench: " << line.status().message() << "\n";
    return line.status().code() == glim::StatusCode::kInvalidArgument ? 2 : 1;
  }
  std::puts(line->c_str());
  return 0;
}
