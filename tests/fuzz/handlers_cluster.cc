#include "tests/fuzz/handlers_cluster.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/agent_api.pb.h"
#include "tests/fuzz/handlers_first_state.h"
#include "tests/fuzz/holds.h"

namespace glim::fuzz {
namespace {

constexpr auto kHung = std::chrono::seconds(15);         // beyond every answer
constexpr auto kIdle = std::chrono::milliseconds(20);    // a stream that says nothing for so long waits for more
constexpr int kMessagesMax = 64;                         // of a stream
constexpr std::size_t kFirstNode = kCallers.size() - 2;  // n1, host
constexpr std::size_t kFirstToken = 1;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// By a Welcome: then it has been taken in. Logs are asked for when somebody reads them.
bool IsAnswered(const FuzzCall& call) { return call.method->input_type()->name() == "AgentMessage"; }

// What an honest agent says first on this stream; empty: nothing.
std::string Opening(const FuzzCall& call) {
  const std::string node(kCallers[call.caller]);
  if (IsAnswered(call)) {
    v1::AgentMessage message;
    v1::Hello* const hello = message.mutable_hello();
    hello->set_protocol_version(1);
    hello->set_cluster_id(kClusterId);
    hello->set_node_name(node);
    hello->set_machine_id(MachineOf(node));
    hello->set_boot_id("boot-1");
    hello->mutable_labels()->set_gpu_count(8);
    hello->set_address("10.0.0.1");
    hello->set_runtime("process");
    return message.SerializeAsString();
  }
  if (call.method->input_type()->name() == "LogChunk") {
    v1::LogChunk chunk;
    chunk.set_node_name(node);
    chunk.set_cluster_id(kClusterId);
    chunk.set_machine_id(MachineOf(node));
    return chunk.SerializeAsString();
  }
  return {};
}

}  // namespace

bool IsNode(std::size_t caller) { return caller >= kFirstNode; }

std::string TokenIdOf(std::size_t caller) {
  return caller < kFirstToken || IsNode(caller) ? std::string() : TokenId(kCallers[caller]);
}

const std::vector<std::string>& Words() {
  static const auto* const kWords = [] {
    auto* const words = new std::vector<std::string>{"", std::string(64, 'a'), std::string(65, 'a')};
    std::istringstream text(
        "vera kim lee tess ora ada root vision nlp n1 n2 n9 host default a100 A leaf-1 A100 pair infiniband auto low "
        "normal high 10 read submit all viewer user operator admin queued failed cancelled key /tmp / ../x "
        "$GLIM_JOB_ID TERM cooperative signal older wait ok any pack never node_failure pool zone address gpus 1:1 0 "
        "127.0.0.1:7603 machine-of-n1 machine-of-n2 machine-of-host process runc groups best_effort disk_full host:1");
    for (std::string word; text >> word;) words->push_back(word);
    for (const std::string_view caller : kCallers) {
      words->push_back(TokenId(caller));
      words->push_back(TokenText(caller));
    }
    words->push_back(TokenText("n2"));
    words->emplace_back(kClusterId);
    words->push_back(TheFirstState().request);
    return words;
  }();
  return *kWords;
}

Cluster::Cluster() {
  const FirstState& first = TheFirstState();
  static int number = 0;
  folder_ = first.folder.parent_path() / std::to_string(++number);
  std::filesystem::copy(first.folder, folder_, std::filesystem::copy_options::recursive);
  calls_ = folder_ / "calls";
  std::filesystem::create_directory(calls_);
  Start();
}

Cluster::~Cluster() {
  users_.reset();
  nodes_ = {};
  server_.reset();
  queue_.Shutdown();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

void Cluster::Start() {
  const FirstState& first = TheFirstState();
  server_ = MustStart(ConfigIn(folder_));
  users_ = Connect(server_->port(), first.authorities, nullptr);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i] = Connect(server_->agents_port(), first.authorities, &first.nodes[i]);
  }
}

void Cluster::Keep(std::string_view input) {
  std::string name = std::to_string(++kept_);
  name.insert(0, 6 - std::min<std::size_t>(6, name.size()), '0');
  std::ofstream(calls_ / name, std::ios::binary) << input;
}

Answer Cluster::Call(const FuzzCall& call) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHung);
  if (call.caller >= kFirstToken && !IsNode(call.caller)) {
    context.AddMetadata("authorization", "Bearer " + TokenText(kCallers[call.caller]));
  }
  const bool stream = call.method->client_streaming() || call.method->server_streaming();
  return stream ? CallStream(call, &context) : CallOnce(call, &context);
}

// The next operation's end; false: it failed. A call that says nothing for so long is cut off, and then it ends.
bool Cluster::Came(grpc::ClientContext* context, std::chrono::milliseconds patience, bool* cut_off) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + patience) ==
      grpc::CompletionQueue::NextStatus::TIMEOUT) {
    *cut_off = true;
    context->TryCancel();
    queue_.Next(&tag, &ok);
  }
  return ok;
}

Answer Cluster::CallOnce(const FuzzCall& call, grpc::ClientContext* context) {
  Answer answer;
  grpc::GenericStub stub(IsNode(call.caller) ? nodes_[call.caller - kFirstNode] : users_);
  const auto rpc = stub.PrepareUnaryCall(context, std::string(call.row->method), BufferOf(call.request), &queue_);
  rpc->StartCall();
  grpc::ByteBuffer response;
  rpc->Finish(&response, &answer.status, this);
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  if (answer.status.ok()) answer.bytes = BytesOf(response);
  return answer;
}

Answer Cluster::CallStream(const FuzzCall& call, grpc::ClientContext* context) {
  Answer answer;
  grpc::GenericStub stub(IsNode(call.caller) ? nodes_[call.caller - kFirstNode] : users_);
  const auto rpc = stub.PrepareCall(context, std::string(call.row->method), &queue_);
  rpc->StartCall(this);
  bool goes_on = Came(context, kHung, &answer.cut_off);
  const std::string opening = call.opened && IsNode(call.caller) ? Opening(call) : std::string();
  if (goes_on && !opening.empty()) {
    rpc->Write(BufferOf(opening), this);
    goes_on = Came(context, kHung, &answer.cut_off);
  }
  grpc::ByteBuffer message;
  if (goes_on && !opening.empty() && IsAnswered(call)) {
    rpc->Read(&message, this);
    if (Came(context, kHung, &answer.cut_off)) answer.bytes += BytesOf(message);
  }
  if (goes_on) {
    rpc->WriteLast(BufferOf(call.request), grpc::WriteOptions(), this);
    Came(context, kHung, &answer.cut_off);
  }
  for (int i = 0; i < kMessagesMax; ++i) {
    rpc->Read(&message, this);
    if (!Came(context, kIdle, &answer.cut_off)) break;
    answer.bytes += BytesOf(message);
  }
  rpc->Finish(&answer.status, this);
  Came(context, kIdle, &answer.cut_off);
  return answer;
}

void Cluster::CheckStore() {
  users_.reset();
  nodes_ = {};
  server_.reset();
  Start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHung);
  context.AddMetadata("authorization", "Bearer " + TokenText("ada"));
  v1::VerifyAuditResponse audit;
  const auto status = v1::AdminApi::NewStub(users_)->VerifyAudit(&context, v1::VerifyAuditRequest(), &audit);
  // ada may be nobody any more.
  Holds(!status.ok() || (audit.broken_at() == 0 && audit.entries() > 0), "the audit trail holds", audit.why());
}

}  // namespace glim::fuzz
