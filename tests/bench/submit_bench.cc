// glim-bench-submit: how many durable submissions a second a scheduler takes. Each client has a connection of its own
// and keeps so many requests outstanding on it, each on a thread; a submission counts when its answer has come, which
// is after the commit. --flood: refused calls are counted, and no fault. Prints one line of JSON, early on SIGTERM.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "glim/v1/client_api.grpc.pb.h"
#include "tests/bench/bench_jobs.h"

namespace glim::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> ending = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler writes it");

struct Options {
  std::string server;
  int clients = 8;
  int outstanding = 1;  // requests of each client at a time
  int batch = 1;        // specs a request
  double seconds = 5;
  int nodes = 4;
  int pause_ms = 0;  // of each thread between an answer and its next request
  bool flood = false;
  std::string ca;                        // the authority's certificate; empty: without TLS and tokens
  std::vector<std::string> token_files;  // the clients take them in turn
  std::vector<std::string> tokens;       // what is in them
};

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct ThreadResult {
  std::int64_t jobs = 0;
  std::int64_t refused = 0;
  std::vector<std::int64_t> latencies_us;
  std::string error;
};

std::shared_ptr<grpc::Channel> Connect(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or all clients would share one connection
  if (options.ca.empty()) {
    return grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments);
  }
  arguments.SetSslTargetNameOverride("glim-scheduler");
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = TextOf(options.ca);
  return grpc::CreateCustomChannel(options.server, grpc::SslCredentials(tls), arguments);
}

void SayWho(const Options& options, int client, grpc::ClientContext* context) {
  if (options.tokens.empty()) {
    context->AddMetadata("glim-user", "bench-" + std::to_string(client));
  } else {
    const auto at = static_cast<std::size_t>(client) % options.tokens.size();
    context->AddMetadata("authorization", "Bearer " + options.tokens[at]);
  }
}

void RunThread(const Options& options, const std::shared_ptr<grpc::Channel>& channel, int thread,
               Clock::time_point until, ThreadResult* result) {
  const auto stub = glim::v1::ClientApi::NewStub(channel);
  const v1::JobSpec spec = MakeSpec(static_cast<std::uint32_t>(options.nodes), 1);
  glim::v1::SubmitRequest request;
  for (int i = 0; i < options.batch; ++i) *request.add_specs() = spec;
  const std::string prefix = std::to_string(::getpid()) + "-" + std::to_string(thread) + "-" +
                             std::to_string(Clock::now().time_since_epoch().count()) + "-";
  for (int number = 0; Clock::now() < until && !ending; ++number) {
    request.set_request_id(prefix + std::to_string(number));
    grpc::ClientContext context;
    SayWho(options, thread % options.clients, &context);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    glim::v1::SubmitResponse response;
    const auto began = Clock::now();
    const grpc::Status status = stub->Submit(&context, request, &response);
    if (options.flood && status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      ++result->refused;
      continue;
    }
    if (!status.ok() || response.job_ids_size() != options.batch) {
      result->error = status.ok() ? "the answer lacks ids" : status.error_message();
      return;
    }
    result->latencies_us.push_back(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began).count());
    result->jobs += options.batch;
    if (options.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
  }
}

double Percentile(const std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
  return static_cast<double>(sorted[rank]) / 1000;
}

int Report(const Options& options, double seconds, const std::vector<ThreadResult>& results) {
  std::int64_t jobs = 0;
  std::int64_t refused = 0;
  std::vector<std::int64_t> latencies;
  for (const ThreadResult& result : results) {
    if (!result.error.empty()) {
      std::fprintf(stderr, "glim-bench-submit: %s\n", result.error.c_str());
      return 1;
    }
    jobs += result.jobs;
    refused += result.refused;
    latencies.insert(latencies.end(), result.latencies_us.begin(), result.latencies_us.end());
  }
  std::sort(latencies.begin(), latencies.end());
  std::printf(
      "{\"clients\": %d, \"outstanding\": %d, \"batch\": %d, \"seconds\": %.3f, \"jobs\": %lld, "
      "\"per_second\": %.1f, \"rpc_p50_ms\": %.3f, \"rpc_p99_ms\": %.3f, \"refused\": %lld, "
      "\"calls_per_second\": %.1f}\n",
      options.clients, options.outstanding, options.batch, seconds, static_cast<long long>(jobs),
      static_cast<double>(jobs) / seconds, Percentile(latencies, 0.50), Percentile(latencies, 0.99),
      static_cast<long long>(refused),
      static_cast<double>(static_cast<std::int64_t>(latencies.size()) + refused) / seconds);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Durable submissions a second", "glim-bench-submit");
  app.add_option("--server", options.server, "the scheduler's HOST:PORT")->required();
  app.add_option("--clients", options.clients, "connections [8]")->check(CLI::Range(1, 256));
  app.add_option("--outstanding", options.outstanding, "requests at a time on each [1]")->check(CLI::Range(1, 64));
  app.add_option("--batch", options.batch, "specs in one atomic request [1]")->check(CLI::Range(1, 10'000));
  app.add_option("--seconds", options.seconds, "how long [5]")->check(CLI::Range(0.1, 600.0));
  app.add_option("--nodes", options.nodes, "nodes of each job [4]")->check(CLI::Range(1, 20'000));
  app.add_option("--pause-ms", options.pause_ms, "between an answer and the next request [0]")
      ->check(CLI::Range(0, 60'000));
  app.add_flag("--flood", options.flood, "go on when calls are refused, and count them");
  app.add_option("--ca", options.ca, "the authority's certificate: TLS [none]");
  app.add_option("--token-file", options.token_files, "one or more, which the clients take in turn");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& path : options.token_files) {
    std::string token = TextOf(path);
    token.erase(token.find_last_not_of(" \n") + 1);
    options.tokens.push_back(std::move(token));
  }

  std::signal(SIGTERM, [](int) { ending = true; });
  const int thread_count = options.clients * options.outstanding;
  std::vector<ThreadResult> results(static_cast<std::size_t>(thread_count));
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < options.clients; ++i) channels.push_back(Connect(options));
  const auto began = Clock::now();
  const std::chrono::duration<double> duration(options.seconds);
  const auto until = began + std::chrono::duration_cast<Clock::duration>(duration);
  std::vector<std::jthread> threads;
  for (int i = 0; i < thread_count; ++i) {
    ThreadResult* const result = &results[static_cast<std::size_t>(i)];
    const auto& channel = channels[static_cast<std::size_t>(i % options.clients)];
    threads.emplace_back([&options, &channel, i, until, result] { RunThread(options, channel, i, until, result); });
  }
  threads.clear();  // joins
  return Report(options, std::chrono::duration<double>(Clock::now() - began).count(), results);
}

}  // namespace
}  // namespace glim::bench

int main(int argc, char** argv) { return glim::bench::Main(argc, argv); }
