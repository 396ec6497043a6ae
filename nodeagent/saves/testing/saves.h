// For tests: nodes with state folders of their own, whose agents' real SaveApi ends talk over loopback; and a source
// that sends what the test says.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/saves/save_copy.h"
#include "nodeagent/saves/save_server.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"
#include "sdk/io/read_file.h"
#include "sdk/io/testing/temp_folder.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::nodeagent {

inline constexpr std::uint64_t kTestJob = 7;

inline std::string Bytes(std::size_t bytes, std::uint64_t seed = 1) {
  Rng rng(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(rng.Next());
  return text;
}

// One node: its state folder, and its SaveApi once it is started.
class TestNode {
 public:
  explicit TestNode(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::string& state() const { return folder_.path(); }
  std::string checkpoints() const { return OwnCheckpointFolder(state(), kTestJob); }

  void Write(const std::string& local, const std::string& text) {
    const std::filesystem::path path = checkpoints() + "/" + local;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string Read(const std::string& local) const {
    const Result<std::string> text = ReadFile(checkpoints() + "/" + local, std::size_t{1} << 30);
    return text.ok() ? *text : text.status().message();
  }
  bool Has(const std::string& local) const {
    return std::filesystem::exists(std::filesystem::symlink_status(checkpoints() + "/" + local));
  }
  // What lies in the folder of all jobs' checkpoints: nothing but the jobs' own folders, unless something was left.
  std::vector<std::string> Jobs() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(state() + "/checkpoints", error)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  void Serve(const std::function<void(SaveServerOptions&)>& more = {}) {
    SaveServerOptions options;
    options.listen = "127.0.0.1:0";
    options.node = name_;
    options.state_dir = state();
    options.key = key_;
    if (more) more(options);
    Result<std::unique_ptr<SaveServer>> server = SaveServer::Start(options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
  }
  void Die() { server_.reset(); }
  SaveServer& server() { return *server_; }

  // As the scheduler names it to `reader`.
  SaveSource SourceFor(const std::string& local, const std::string& reader) const {
    return {name_, server_->address(), FetchToken(key_, kTestJob, local, reader)};
  }

 private:
  const std::string name_;
  const std::string key_ = MakeSaveKey();
  TempFolder folder_;
  std::unique_ptr<SaveServer> server_;
};

// Sends what it is given, and then waits for `go_on` where it is set. Takes any token.
class ScriptedSource final : public v1::SaveApi::Service {
 public:
  explicit ScriptedSource(std::vector<v1::FetchChunk> chunks, grpc::Status status = grpc::Status::OK)
      : chunks_(std::move(chunks)), status_(std::move(status)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedSource() override { server_->Shutdown(std::chrono::system_clock::now()); }

  SaveSource source() const { return {"script", "127.0.0.1:" + std::to_string(port_), "any"}; }
  int calls() const { return calls_; }

  std::atomic<bool> hang{false};  // after the last chunk, until the reader goes

 private:
  grpc::Status Fetch(grpc::ServerContext* context, const v1::FetchRequest*,
                     grpc::ServerWriter<v1::FetchChunk>* writer) override {
    ++calls_;
    for (const v1::FetchChunk& chunk : chunks_) writer->Write(chunk);
    while (hang && !context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return status_;
  }

  const std::vector<v1::FetchChunk> chunks_;
  const grpc::Status status_;
  int port_ = 0;
  std::atomic<int> calls_{0};
  std::unique_ptr<grpc::Server> server_;
};

inline v1::FetchChunk FileChunk(const std::string& path, std::int64_t bytes) {
  v1::FetchChunk chunk;
  chunk.mutable_file()->set_path(path);
  chunk.mutable_file()->set_bytes(bytes);
  chunk.mutable_file()->set_mode(0600);
  return chunk;
}
inline v1::FetchChunk DataChunk(const std::string& data) {
  v1::FetchChunk chunk;
  chunk.set_data(data);
  return chunk;
}
inline v1::FetchChunk EndChunk(std::uint32_t crc32c) {
  v1::FetchChunk chunk;
  chunk.mutable_end()->set_crc32c(crc32c);
  return chunk;
}
inline v1::FetchChunk DoneChunk(std::uint32_t files, std::int64_t bytes) {
  v1::FetchChunk chunk;
  chunk.mutable_done()->set_files(files);
  chunk.mutable_done()->set_bytes(bytes);
  return chunk;
}

class SaveCopyTest : public testing::Test {
 protected:
  CopyOrder Order(const std::string& local, std::vector<SaveSource> sources) const {
    return {kTestJob, local, "step 42", std::move(sources), false};
  }
  CopyPlace Place() const {
    CopyPlace place;
    place.state_dir = here_.state();
    place.node = here_.name();
    place.stall = LongWait();
    return place;
  }
  Status Copy(const CopyOrder& order) { return CopySave(Place(), order, progress_); }

  TestNode here_{"node-2"};
  TestNode there_{"node-1"};
  CopyProgress progress_;
};

}  // namespace glim::nodeagent
