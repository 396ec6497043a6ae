// Any bytes as a call of any method by anybody (handlers_call.h), to a scheduler that serves (handlers_cluster.h): it
// answers, or refuses in words; it tells nobody what is another's; and what it refuses has changed nothing. The methods
// are those of the table of permissions, so that a new one is called as well.
//
// Calls follow each other on one scheduler. When one breaks a promise, the folder that is named has all of them as
// files: the fuzz target, given these files, makes the same calls again.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/server/door/caller.h"
#include "tests/fuzz/handlers_call.h"
#include "tests/fuzz/handlers_cluster.h"
#include "tests/fuzz/handlers_first_state.h"
#include "tests/fuzz/holds.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace glim::fuzz {
namespace {

constexpr int kCallsOfCluster = 400;
constexpr int kCallsOfStream = 50;              // as long as nodes' rows may still change
constexpr std::size_t kMessageBytesMax = 4096;  // of a refusal

// Between calls a scheduler holds memory that it did not hold before: leaks are looked for once, when it has ended.
bool looks_for_leaks = false;  // NOLINT(readability-identifier-naming)

std::unique_ptr<Cluster> cluster;  // NOLINT(readability-identifier-naming): the one that calls go to

// What only calls change: not what follows from them with time.
struct Changed {
  std::shared_ptr<const core::Accounts> accounts;
  std::vector<core::IdentityRow> identity;
  std::map<core::JobId, bool> jobs;  // whether somebody has stopped it
  std::vector<std::string> nodes;
};

// Empty: there is none.
std::string FirstDifference(const Changed& a, const Changed& b) {
  if (*a.accounts != *b.accounts) return "accounts";
  if (a.jobs != b.jobs) return "jobs";
  if (a.nodes != b.nodes) return "nodes";
  const auto [here, there] = std::mismatch(a.identity.begin(), a.identity.end(), b.identity.begin(), b.identity.end());
  if (here == a.identity.end() && there == b.identity.end()) return "";
  const core::RowKey key = core::KeyOf(here != a.identity.end() ? *here : *there);
  return key.kind + " " + key.name;
}

Changed ChangedIn(const server::Snapshot& snapshot, bool with_nodes) {
  Changed rows;
  rows.accounts = snapshot.tables.accounts;
  for (core::IdentityRow& row : snapshot.tables.identity->Rows()) {
    auto* const token = std::get_if<core::TokenRow>(&row);
    if (token != nullptr && token->origin == core::TokenOrigin::kJob) continue;  // it comes and goes with its attempt
    // What a launch needs first, the key that signs jobs' tokens, comes with a node that is heard.
    if (!with_nodes && !std::holds_alternative<core::TokenRow>(row) && !std::holds_alternative<core::SecretRow>(row)) {
      continue;
    }
    if (token != nullptr) token->last_used_at = {};
    rows.identity.push_back(std::move(row));
  }
  snapshot.tables.jobs.ForEach([&](core::JobId id, const core::Job& job) {
    rows.jobs[id] = job.state == core::JobState::kCancelled || job.state == core::JobState::kCancelling ||
                    job.state == core::JobState::kHeld || job.state == core::JobState::kSuspending;
  });
  if (!with_nodes) return rows;
  snapshot.tables.nodes.ForEach([&](core::NodeId, const core::Node& node) { rows.nodes.push_back(node.name); });
  return rows;
}

// The user behind the caller's token, as things stand; role kNone: it does not count.
server::Caller CallerIn(const server::Snapshot& snapshot, std::size_t caller) {
  server::Caller found;
  const core::TokenRow* const token = snapshot.tables.identity->tokens.Find(TokenIdOf(caller));
  if (token == nullptr) return found;
  const auto user = snapshot.tables.accounts->users.find(token->user);
  if (user == snapshot.tables.accounts->users.end() || user->second.disabled) return found;
  found.user = token->user;
  found.origin = token->origin;
  found.scope = token->scope;
  found.role = server::RoleInForce(*snapshot.tables.accounts, user->second, *token);
  if (found.role >= core::Role::kUser && !found.IsJob()) found.admin_of = user->second.admin_of;
  return found;
}

bool MayCall(const server::Caller& caller, const server::Permission& row) {
  return caller.role != core::Role::kNone && caller.role >= row.least && caller.scope >= row.scope &&
         (row.jobs || !caller.IsJob());
}

bool IsOnTheirPort(const FuzzCall& call) {
  return IsNode(call.caller) == (call.row->callers == server::Callers::kNodes);
}

void CheckRefusal(const FuzzCall& call, const grpc::Status& status) {
  const std::string who = std::string(kCallers[call.caller]) + " " + std::string(call.row->method);
  const auto code = status.error_code();
  Holds(code != grpc::StatusCode::DEADLINE_EXCEEDED, "an answer comes", who);
  Holds(code != grpc::StatusCode::UNKNOWN && code != grpc::StatusCode::INTERNAL && code != grpc::StatusCode::DATA_LOSS,
        "a refusal is nobody's fault here", who + ": " + std::to_string(code) + " " + status.error_message());
  // gRPC itself answers what no handler saw.
  if (code == grpc::StatusCode::UNIMPLEMENTED) {
    Holds(!IsOnTheirPort(call) || RequestOf(call) == nullptr, "every method has a handler", who);
    return;
  }
  Holds(!status.error_message().empty(), "a refusal has words", who);
  Holds(status.error_message().size() <= kMessageBytesMax, "and not too many", who);
}

// What is another's is in no answer to who has no right to it; secrets are in nobody's.
void CheckPrivate(const FuzzCall& call, const server::Caller& caller, const Answer& answer) {
  const std::string who = std::string(kCallers[call.caller]) + " " + std::string(call.row->method);
  const std::string& refusal = answer.status.error_message();
  const auto told = [&](std::string_view canary) {
    return answer.bytes.find(canary) != std::string::npos || refusal.find(canary) != std::string::npos;
  };
  if (IsNode(call.caller)) return;  // they run the jobs
  Holds(!told(kSecretCanary), "no secret is told", who);
  if (caller.role >= core::Role::kOperator) return;
  if (std::find(caller.admin_of.begin(), caller.admin_of.end(), "vision") != caller.admin_of.end()) return;
  Holds(!told(kKimsCanary) || caller.user == "kim", "what is kim's is told to kim", who);
  Holds(!told(kLeesCanary) || caller.user == "lee", "what is lee's is told to lee", who);
}

void CheckCall(const FuzzCall& call) {
  // What came by an agent's stream changes nodes' rows for a while when that has ended.
  static int calls_since_stream = 0;
  const bool with_nodes = calls_since_stream++ > kCallsOfStream;
  if (call.method->client_streaming()) calls_since_stream = 0;
  const server::SnapshotPtr before = cluster->snapshot();
  const server::Caller caller = CallerIn(*before, call.caller);
  const Answer answer = cluster->Call(call);
  CheckPrivate(call, caller, answer);
  const std::string who = std::string(kCallers[call.caller]) + " " + std::string(call.row->method);
  if (answer.status.ok()) {
    Holds(IsOnTheirPort(call), "each port has its own methods", who);
    Holds(call.row->callers != server::Callers::kUsers || MayCall(caller, *call.row), "who may not is refused", who);
    return;
  }
  if (answer.cut_off) return;
  CheckRefusal(call, answer.status);
  const server::SnapshotPtr after = cluster->snapshot();
  if (after->revision == before->revision || call.opened) return;
  const std::string what = FirstDifference(ChangedIn(*before, with_nodes), ChangedIn(*after, with_nodes));
  Holds(what.empty(), "what is refused changes nothing", who + ": " + what);
}

// At the end of a run without a finding nothing is left behind.
void EndWell() {
  cluster.reset();
  ForgetFirstState();
  looks_for_leaks = true;
}

}  // namespace
}  // namespace glim::fuzz

extern "C" int __lsan_is_turned_off() { return glim::fuzz::looks_for_leaks ? 0 : 1; }  // NOLINT: the sanitizer's name

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  google::protobuf::SetLogHandler(nullptr);
  // Weighing inputs by what few others reach takes longer than the calls, of so much code.
  static char unweighed[] = "-entropic=0";
  static std::vector<char*> words(*argv, *argv + *argc);
  words.insert(words.begin() + 1, unweighed);
  *argc = static_cast<int>(words.size());
  words.push_back(nullptr);
  *argv = words.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glim::fuzz;  // NOLINT: one function, all of it about these
  static int calls = 0;
  if (cluster == nullptr) cluster = std::make_unique<Cluster>();
  if (calls == 0) std::fprintf(stderr, "calls are kept in %s\n", cluster->calls().parent_path().parent_path().c_str());
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // libFuzzer learns what is compared: a canary in a request would be no secret.
  if (input.find(kCanaryWord) != std::string_view::npos) return 0;
  cluster->Keep(input);
  CheckCall(ReadCall(input, kCallers));
  if (calls == 0) std::atexit(EndWell);
  if (++calls % kCallsOfCluster != 0) return 0;
  cluster->CheckStore();
  cluster.reset();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  using namespace glim::fuzz;  // NOLINT: one function, all of it about these
  Random random(seed);
  FuzzCall call = ReadCall({reinterpret_cast<const char*>(data), size}, kCallers);
  const MutateBytes mutate = [](std::string bytes, std::size_t bytes_max) {
    const std::size_t before = bytes.size();
    bytes.resize(std::max(bytes_max, before));
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), before, bytes.size()));
    return bytes;
  };
  MutateCall(&call, kCallers, Words(), max_size > 2 ? max_size - 2 : 0, mutate, &random);
  const std::string bytes = WriteCall(call);
  const std::size_t written = std::min(bytes.size(), max_size);
  std::copy_n(bytes.begin(), written, data);
  return written;
}
