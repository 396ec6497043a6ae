// ckpt-bench: what saving and loading cost on this machine. One JSON line.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/checkpoint/bench.h"

namespace {

using namespace glim;
using namespace glim::checkpoint;

// "1GiB" -> bytes; the word is refused by CLI11 otherwise.
void AddSize(CLI::App* app, const std::string& name, std::uint64_t& target, const std::string& help) {
  app->add_option(name, target, help)->transform(CLI::AsSizeValue(false))->capture_default_str();
}

struct Bench {
  const char* name;
  const char* help;
  Result<nlohmann::ordered_json> (*run)(const bench::Setup&);
};

constexpr Bench kBenches[] = {
    {"save", "durable saves into fresh files", bench::BenchSave},
    {"load", "everything, then one tensor; from the page cache, or --dropped", bench::BenchLoad},
    {"stall", "what the trainer waits, beside a bare memcpy", bench::BenchStall},
    {"small", "save of 100,000 tensors of 4 KiB, unless said otherwise", bench::BenchSave},
    {"step", "the trainer's step time beside the background write", bench::BenchStep},
#ifdef GLIM_WITH_UCX
    {"replica", "a copy into a neighbour's memory and back, beside bare UCX", bench::BenchReplica},
#endif
};

}  // namespace

int main(int argc, char** argv) {
  bench::Setup setup;
  CLI::App app("Measures the checkpoint manager on this machine", "ckpt-bench");
  std::string io = "auto";
  bool json = true;
  const Bench* chosen = nullptr;
  app.require_subcommand(1);
  for (const Bench& one : kBenches) {
    CLI::App* command = app.add_subcommand(one.name, one.help);
    command->add_option("--dir", setup.dir, "a folder on the disk in question")
        ->required()
        ->check(CLI::ExistingDirectory);
    AddSize(command, "--bytes", setup.bytes, "of all tensors");
    AddSize(command, "--tensor-bytes", setup.tensor_bytes, "of each");
    command->add_option("--io", io, "auto, io_uring, pwrite or usrbio")
        ->check(CLI::IsMember({"auto", "io_uring", "pwrite", "usrbio"}))
        ->capture_default_str();
    AddSize(command, "--block-bytes", setup.io.block_bytes, "of one request");
    command->add_option("--depth", setup.io.depth, "requests in flight")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command->add_option("--rounds", setup.rounds, "timed")->check(CLI::Range(1, 1000))->capture_default_str();
    command->add_option("--copy-threads", setup.copy_threads, "of the copy aside")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command->add_flag("--dropped", setup.dropped, "load: from the disk, with nothing in the page cache");
    command->add_flag("--json", json, "one line of it, as always");
    command->parse_complete_callback([&chosen, &one] { chosen = &one; });
    if (std::string(one.name) == "small") {
      command->preparse_callback([&setup](std::size_t) {
        setup.tensor_bytes = 4096;
        setup.bytes = 100'000 * setup.tensor_bytes;
      });
    }
  }
  CLI11_PARSE(app, argc, argv);
  for (const IoKind kind : {IoKind::kAuto, IoKind::kUring, IoKind::kPwrite, IoKind::kUsrbio}) {
    if (NameOf(kind) == io) setup.io.kind = kind;
  }
  if (setup.tensor_bytes % 4 != 0 || setup.tensor_bytes == 0 || setup.bytes % 4 != 0 || setup.bytes == 0) {
    std::cerr << "ckpt-bench: --bytes and --tensor-bytes must be multiples of 4\n";
    return 2;
  }
  Result<nlohmann::ordered_json> line = chosen->run(setup);
  if (!line.ok()) {
    std::cerr << "ckpt-bench: " << line.status().message() << '\n';
    return 1;
  }
  (*line)["bench"] = chosen->name;
  std::cout << line->dump() << std::endl;
  return 0;
}
