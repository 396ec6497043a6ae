// SaveApi: gives other nodes' agents the saves in this node's own checkpoint folders. docs/protocols/save-copy.md.
//
// A thread for each fetch, and one that takes them in: a disk that hangs holds up nothing else of the agent. That one
// checks the token and waits for no reader: who has none costs no thread. A fetch beyond `fetches_at_once` is refused
// with RESOURCE_EXHAUSTED, and the reader asks again. A reader that takes nothing for `idle` is dropped. Who may be
// connected: save_door.h.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/saves/piece_pool.h"
#include "nodeagent/saves/save_door.h"
#include "nodeagent/saves/save_tree.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct SaveServerOptions {
  std::string listen;  // HOST:PORT, port 0: a free one
  std::string node;    // this node's name, for messages
  std::string state_dir;
  std::string key;  // of the tokens (fetch_token.h)
  unsigned fetches_at_once = 16;
  std::chrono::milliseconds idle{60'000};
  TreeLimits limits;
  SaveDoorBounds door;
};

class SaveServer {
 public:
  // UNAVAILABLE when it cannot listen there.
  static Result<std::unique_ptr<SaveServer>> Start(SaveServerOptions options);
  // Ends what is under way.
  ~SaveServer();
  SaveServer(const SaveServer&) = delete;
  SaveServer& operator=(const SaveServer&) = delete;

  const std::string& address() const { return door_->address(); }  // host:port

 private:
  using Service = v1::SaveApi::WithRawMethod_Fetch<v1::SaveApi::Service>;
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
  struct Call;

  explicit SaveServer(SaveServerOptions options);

  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> over;
  };

  // Its answer is on its way.
  struct Refusal {
    std::shared_ptr<Call> call;
    std::chrono::steady_clock::time_point until;
  };

  void TakeIn();
  bool NextHasCome();
  void Begin(std::shared_ptr<Call> call, v1::FetchRequest request);
  void Refuse(std::shared_ptr<Call> call, const grpc::Status& status);
  void LookAtRefused();
  Status Allow(const v1::FetchRequest& request) const;
  Status SendSave(Call& call, const v1::FetchRequest& request);
  Status SendFile(Call& call, const TreeEntry& file);

  const SaveServerOptions options_;
  const std::shared_ptr<PiecePool> pieces_;
  std::unique_ptr<SaveDoor> door_;
  Service service_;
  std::unique_ptr<grpc::ServerCompletionQueue> arrivals_;
  std::unique_ptr<grpc::Server> server_;
  std::thread taking_in_;
  std::list<Worker> workers_;   // of that thread, and then of the destructor
  std::list<Refusal> refused_;  // so, too
};

}  // namespace glim::nodeagent
