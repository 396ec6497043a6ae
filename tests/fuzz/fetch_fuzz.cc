// Any bytes as a request for a save to an agent's SaveApi: the first byte says whether they are sent as they are or get
// the token that they would need. Nothing is given without it, and with it only what lies in jobs' checkpoint folders.
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/saves/save_server.h"
#include "sdk/tokens/fetch_token.h"
#include "tests/fuzz/holds.h"

namespace glim::nodeagent {
namespace {

using fuzz::Holds;

constexpr auto kHung = std::chrono::seconds(15);
constexpr int kCallsMost = 5;
constexpr std::string_view kOutside = "outside-the-jobs-folders";
const char* const kKey = "6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b";

// An agent's end: jobs 1 and 7 have saves, job 7's folder has links that lead out of it.
class Node {
 public:
  Node() {
    std::string pattern = std::filesystem::temp_directory_path() / "glim-fuzz-XXXXXX";
    Holds(::mkdtemp(pattern.data()) != nullptr, "a folder", pattern);
    folder_ = pattern;
    Write("state/checkpoints/1/a", "of job 1");
    Write("state/checkpoints/7/step-5/rank-0", "a shard");
    Write("state/checkpoints/7/step-5/inner/rank-1", std::string(1 << 16, 'x'));
    Write("state/secret", kOutside);
    Write("secret", kOutside);
    std::filesystem::create_symlink(folder_ / "secret", folder_ / "state/checkpoints/7/link");
    std::filesystem::create_directory_symlink(folder_, folder_ / "state/checkpoints/7/step-5/up");
    SaveServerOptions options;
    options.listen = "127.0.0.1:0";
    options.node = "n1";
    options.state_dir = (folder_ / "state").string();
    options.key = kKey;
    auto server = SaveServer::Start(options);
    Holds(server.ok(), "it listens", server.status().message());
    server_ = std::move(server).value();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 10);
    // And so long may a connection take, whatever else the machine does.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                     static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kHung).count()));
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }
  ~Node() {
    stub_.reset();
    server_.reset();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // What comes is added to `bytes`.
  grpc::Status Fetch(const std::string& request, std::string* bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kHung);
    const auto call = stub_->PrepareCall(&context, "/glim.v1.SaveApi/Fetch", &queue_);
    call->StartCall(this);
    Came();
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), this);
    Came();
    for (grpc::ByteBuffer message;;) {
      call->Read(&message, this);
      if (!Came()) break;
      std::vector<grpc::Slice> slices;
      Holds(message.Dump(&slices).ok(), "a message has bytes");
      for (const grpc::Slice& part : slices) bytes->append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
    grpc::Status status;
    call->Finish(&status, this);
    Came();
    return status;
  }

 private:
  void Write(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  bool Came() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  std::filesystem::path folder_;
  std::unique_ptr<SaveServer> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::CompletionQueue queue_;
};

// A call's thread may end after the call: leaks are looked for once, when all have ended.
bool looks_for_leaks = false;  // NOLINT(readability-identifier-naming)

std::unique_ptr<Node> node;  // NOLINT(readability-identifier-naming): the one that calls go to

std::string WithToken(const std::string& bytes) {
  v1::FetchRequest request;
  if (!request.ParseFromString(bytes)) return bytes;
  request.set_token(FetchToken(kKey, request.job_id(), request.local(), request.reader()));
  return request.SerializeAsString();
}

void CheckFetch(bool with_token, const std::string& bytes) {
  std::string came;
  grpc::Status status = node->Fetch(with_token ? WithToken(bytes) : bytes, &came);
  // A stranger is hung up on; so is who calls by the same connection behind it, and calls again.
  for (int i = 0; with_token && i < kCallsMost && status.error_code() == grpc::StatusCode::UNAVAILABLE; ++i) {
    came.clear();
    status = node->Fetch(WithToken(bytes), &came);
  }
  Holds(came.find(kOutside) == std::string::npos, "nothing comes from outside the jobs' folders");
  Holds(with_token || came.empty(), "nothing comes without a token");
  if (status.ok()) return Holds(!came.empty(), "what is given ends with `done`");
  const grpc::StatusCode code = status.error_code();
  Holds(!status.error_message().empty(), "a refusal has words");
  Holds(code == grpc::StatusCode::PERMISSION_DENIED || code == grpc::StatusCode::INVALID_ARGUMENT ||
            code == grpc::StatusCode::NOT_FOUND || code == grpc::StatusCode::FAILED_PRECONDITION ||
            (!with_token && code == grpc::StatusCode::UNAVAILABLE),
        "a refusal's code", std::to_string(code) + " " + status.error_message());
}

void EndWell() {
  node.reset();
  looks_for_leaks = true;
}

}  // namespace
}  // namespace glim::nodeagent

extern "C" int __lsan_is_turned_off() { return glim::nodeagent::looks_for_leaks ? 0 : 1; }  // NOLINT: the sanitizer's

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glim::nodeagent;  // NOLINT: one function, all of it about these
  if (size == 0) return 0;
  const bool is_first = node == nullptr;
  if (is_first) {
    google::protobuf::SetLogHandler(nullptr);
    node = std::make_unique<Node>();
  }
  CheckFetch(data[0] % 2 == 1, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (is_first) std::atexit(EndWell);  // while gRPC is there
  return 0;
}
