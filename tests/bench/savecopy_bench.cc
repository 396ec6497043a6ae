// The two ends of a copy of a save, as agents run them: `serve` gives what lies in a state folder, `fetch` copies it
// into another one, durably, and prints one line of JSON. tests/bench/bench_savecopy.py runs both.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "nodeagent/saves/save_copy.h"
#include "nodeagent/saves/save_server.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::nodeagent {
namespace {

constexpr std::uint64_t kJob = 1;
constexpr const char* kReader = "reader";

int Fail(const Status& status) {
  std::fprintf(stderr, "glim-bench-savecopy: %s\n", status.message().c_str());
  return 1;
}

int Serve(const std::string& state_dir, const std::string& local) {
  SaveServerOptions options;
  options.listen = "127.0.0.1:0";
  options.node = "source";
  options.state_dir = state_dir;
  options.key = MakeSaveKey();
  const Result<std::unique_ptr<SaveServer>> server = SaveServer::Start(options);
  if (!server.ok()) return Fail(server.status());
  std::cout << (*server)->address() << " " << FetchToken(options.key, kJob, local, kReader) << std::endl;
  std::cin.get();  // until whoever started it goes
  return 0;
}

int Fetch(const std::string& state_dir, const std::string& local, const std::string& address,
          const std::string& token) {
  CopyPlace place;
  place.state_dir = state_dir;
  place.node = kReader;
  CopyOrder order;
  order.job = kJob;
  order.local = local;
  order.sources = {{"source", address, token}};
  CopyProgress progress;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = CopySave(place, order, progress);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!status.ok()) return Fail(status);
  std::printf("{\"ms\": %.1f, \"bytes\": %lld}\n", took.count(), static_cast<long long>(progress.bytes));
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Copies a save between two state folders");
  app.require_subcommand(1);
  std::string state_dir, local = "save", address, token;
  auto* serve = app.add_subcommand("serve", "gives saves until its input ends; prints its address and a token");
  auto* fetch = app.add_subcommand("fetch", "copies one");
  for (auto* command : {serve, fetch}) {
    command->add_option("--state-dir", state_dir)->required();
    command->add_option("--local", local, "the save, below STATE_DIR/checkpoints/1");
  }
  fetch->add_option("--address", address)->required();
  fetch->add_option("--token", token)->required();
  CLI11_PARSE(app, argc, argv);
  return *serve ? Serve(state_dir, local) : Fetch(state_dir, local, address, token);
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) { return glim::nodeagent::Main(argc, argv); }
