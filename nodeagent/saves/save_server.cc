#include "nodeagent/saves/save_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "nodeagent/saves/fetch_frames.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/io/io_error.h"
#include "sdk/tokens/fetch_token.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kReadAheadBytes = 16 << 20;
constexpr std::size_t kPiecesKept = 32;
constexpr int kRequestBytesMax = 64 * 1024;
constexpr std::size_t kReaderBytesMax = 253;
constexpr std::chrono::milliseconds kLookAgain{100};      // at who is being refused
constexpr std::chrono::milliseconds kRefusalTime{5'000};  // to take the answer in
constexpr std::chrono::milliseconds kCancelTime{1'000};   // for gRPC, which may still be writing
constexpr int kLooksAtOnce = 8;

grpc::Status ToGrpc(const Status& status) {
  return status.ok() ? grpc::Status::OK : grpc::Status(static_cast<grpc::StatusCode>(status.code()), status.message());
}

Status ReaderGone() { return Status(StatusCode::kCancelled, "the reader has gone, or takes nothing"); }

// How far ahead of the reading the kernel was told to read: its own idea is too small for a cold file on a fast disk.
class ReadAhead {
 public:
  explicit ReadAhead(int fd) : fd_(fd) { (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); }
  void Reach(std::int64_t offset) {
    if (offset + kReadAheadBytes / 2 < told_) return;
    (void)::posix_fadvise(fd_, told_, kReadAheadBytes, POSIX_FADV_WILLNEED);
    told_ += kReadAheadBytes;
  }

 private:
  const int fd_;
  std::int64_t told_ = 0;
};

// The file must be what it was when its length was told: a save is not written to any more.
Result<std::size_t> ReadPiece(const TreeEntry& file, std::int64_t offset, std::byte* piece) {
  const std::size_t wanted =
      static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(kPieceBytes), file.bytes - offset));
  std::size_t have = 0;
  while (have < wanted) {
    const ssize_t n = ::pread(file.fd, piece + have, wanted - have, offset + static_cast<std::int64_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", file.path.empty() ? file.name : file.path, errno);
    if (n == 0) return Status(StatusCode::kAborted, file.name + " became shorter while it was read");
    have += static_cast<std::size_t>(n);
  }
  return have;
}

}  // namespace

// One fetch: at most one message is on its way, and the next piece is read meanwhile.
struct SaveServer::Call {
  Call(std::chrono::milliseconds patience, SaveDoor& from) : idle(patience), door(from), writer(&context) {}
  ~Call() {
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
  }

  void BeginFinish(const grpc::Status& status) { writer.Finish(status, this); }
  void Finish(const grpc::Status& status) {
    BeginFinish(status);
    (void)Await();
  }
  // Whether what was begun is over by then, and in `ok` whether it went well.
  bool IsOver(std::chrono::milliseconds time, bool* ok) {
    void* tag = nullptr;
    return queue.AsyncNext(&tag, ok, std::chrono::system_clock::now() + time) != grpc::CompletionQueue::TIMEOUT;
  }
  // Waits for what was begun, for a time; then it is ended, with the connection if need be: gRPC ends nothing that it
  // is writing to a peer who reads nothing.
  bool Await() {
    bool ok = false;
    if (IsOver(idle, &ok)) return ok;
    context.TryCancel();
    if (IsOver(kCancelTime, &ok)) return false;
    door.HangUp(context.peer());
    void* tag = nullptr;
    (void)queue.Next(&tag, &ok);
    return false;
  }
  // Waits until the message before is through, then sends.
  bool Send(const grpc::ByteBuffer& message) {
    if (!Flush()) return false;
    writer.Write(message, this);
    writing = true;
    return true;
  }
  bool Flush() { return !std::exchange(writing, false) || Await(); }

  grpc::CompletionQueue queue;
  const std::chrono::milliseconds idle;
  SaveDoor& door;
  grpc::ServerContext context;
  grpc::ByteBuffer request;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer;
  bool writing = false;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
};

SaveServer::SaveServer(SaveServerOptions options)
    : options_(std::move(options)), pieces_(PiecePool::Make(kPieceBytes, kPiecesKept)) {}

Result<std::unique_ptr<SaveServer>> SaveServer::Start(SaveServerOptions options) {
  std::unique_ptr<SaveServer> self(new SaveServer(std::move(options)));
  const std::string& listen = self->options_.listen;
  auto door = SaveDoor::Open(listen, self->options_.door);
  if (!door.ok()) {
    return Status(StatusCode::kUnavailable,
                  "cannot listen on " + listen + " for copies of saves: " + door.status().message())
        .WithField("--saves-listen")
        .WithFix("name an address of this node and a port that is free");
  }
  self->door_ = std::move(door).value();
  grpc::ServerBuilder builder;
  // A peer that vanished without a word is noticed, also while it owes us nothing.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.SetMaxReceiveMessageSize(kRequestBytesMax);
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
  // What is unpacked could be larger than what was checked.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.RegisterService(&self->service_);
  self->arrivals_ = builder.AddCompletionQueue();
  const std::shared_ptr<Acceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  self->server_ = builder.BuildAndStart();
  if (!self->server_) return Status(StatusCode::kUnavailable, "gRPC's server for copies of saves does not start");
  self->door_->Start([acceptor](UniqueFd socket, int listener) {
    Acceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = socket.Release();
    acceptor->HandleNewConnection(&connection);
  });
  self->taking_in_ = std::thread([server = self.get()] { server->TakeIn(); });
  return self;
}

SaveServer::~SaveServer() {
  if (!door_) return;
  door_->Close();  // first: nobody is waited for who takes nothing
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  if (taking_in_.joinable()) taking_in_.join();
  for (Worker& worker : workers_) worker.thread.join();
  refused_.clear();
  if (!arrivals_) return;
  arrivals_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (arrivals_->Next(&tag, &ok)) {
  }
}

// Waits for nobody but who comes next.
void SaveServer::TakeIn() {
  for (;;) {
    auto call = std::make_shared<Call>(options_.idle, *door_);
    service_.RequestFetch(&call->context, &call->request, &call->writer, &call->queue, arrivals_.get(), call.get());
    if (!NextHasCome()) return;  // the server is shutting down
    std::erase_if(workers_, [](Worker& worker) {
      if (!worker.over->load()) return false;
      worker.thread.join();
      return true;
    });
    v1::FetchRequest request;
    const bool is_one = grpc::SerializationTraits<v1::FetchRequest>::Deserialize(&call->request, &request).ok();
    const Status allowed = is_one ? Allow(request) : Status(StatusCode::kInvalidArgument, "this is no FetchRequest");
    if (!allowed.ok()) {
      Refuse(std::move(call), ToGrpc(allowed));
      continue;
    }
    door_->Know(call->context.peer());
    if (workers_.size() < options_.fetches_at_once) {
      Begin(std::move(call), std::move(request));
      continue;
    }
    Refuse(std::move(call), {grpc::StatusCode::RESOURCE_EXHAUSTED, "node " + options_.node + " is giving " +
                                                                       std::to_string(options_.fetches_at_once) +
                                                                       " copies of saves already"});
  }
}

bool SaveServer::NextHasCome() {
  for (;;) {
    LookAtRefused();
    void* tag = nullptr;
    bool ok = false;
    const auto until =
        refused_.empty() ? std::chrono::system_clock::time_point::max() : std::chrono::system_clock::now() + kLookAgain;
    if (arrivals_->AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::TIMEOUT) return ok;
  }
}

void SaveServer::Refuse(std::shared_ptr<Call> call, const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) door_->Refuse(call->context.peer());
  call->BeginFinish(status);
  refused_.push_back({std::move(call), std::chrono::steady_clock::now() + kRefusalTime});
}

// A few at a time, in turns: who comes next is not kept waiting by many.
void SaveServer::LookAtRefused() {
  const auto now = std::chrono::steady_clock::now();
  for (int i = 0; i < kLooksAtOnce && !refused_.empty(); ++i) {
    Refusal refusal = std::move(refused_.front());
    refused_.pop_front();
    bool ok = false;
    if (refusal.call->IsOver(std::chrono::milliseconds(0), &ok)) continue;
    if (now >= refusal.until) door_->HangUp(refusal.call->context.peer());
    refused_.push_back(std::move(refusal));
  }
}

void SaveServer::Begin(std::shared_ptr<Call> call, v1::FetchRequest request) {
  auto over = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([this, over, call = std::move(call), request = std::move(request)]() mutable {
    Status status = SendSave(*call, request);
    if (!call->Flush() && status.ok()) status = ReaderGone();
    call->Finish(ToGrpc(status));
    call.reset();
    over->store(true);
  });
  workers_.push_back({std::move(thread), std::move(over)});
}

// Who has no token learns nothing, not even what there is.
Status SaveServer::Allow(const v1::FetchRequest& request) const {
  const std::string& reader = request.reader();
  const bool plain = !reader.empty() && reader.size() <= kReaderBytesMax && reader.find('\n') == std::string::npos;
  const std::string token = FetchToken(options_.key, request.job_id(), request.local(), reader);
  if (!plain || !SameToken(token, request.token())) {
    return Status(StatusCode::kPermissionDenied, "node " + options_.node + " does not take the token");
  }
  if (!IsLocalPath(request.local())) {
    return InvalidArgument("local", "\"" + request.local() + "\" is no path below a folder");
  }
  return Status::Ok();
}

Status SaveServer::SendSave(Call& call, const v1::FetchRequest& request) {
  const std::string save = "save " + request.local() + " of job " + std::to_string(request.job_id());
  const auto missing = [&](const Status& why) {
    if (why.code() != StatusCode::kNotFound) return why;
    return Status(StatusCode::kNotFound, "node " + options_.node + " has no " + save);
  };
  Result<UniqueFd> folder = OpenFolder(OwnCheckpointFolder(options_.state_dir, request.job_id()));
  if (!folder.ok()) return missing(folder.status());
  const Status status =
      WalkTree(folder->get(), request.local(), options_.limits, FolderOrder::kBefore, [&](const TreeEntry& entry) {
        if (!entry.folder) return SendFile(call, entry);
        v1::FetchChunk chunk;
        chunk.mutable_file()->set_path(entry.path + "/");
        chunk.mutable_file()->set_mode(entry.mode);
        return call.Send(ControlFrame(chunk)) ? Status::Ok() : ReaderGone();
      });
  if (!status.ok()) return missing(status);
  v1::FetchChunk done;
  done.mutable_done()->set_files(static_cast<std::uint32_t>(call.files));
  done.mutable_done()->set_bytes(call.bytes);
  return call.Send(ControlFrame(done)) ? Status::Ok() : ReaderGone();
}

Status SaveServer::SendFile(Call& call, const TreeEntry& file) {
  v1::FetchChunk chunk;
  chunk.mutable_file()->set_path(file.path);
  chunk.mutable_file()->set_bytes(file.bytes);
  chunk.mutable_file()->set_mode(file.mode);
  if (!call.Send(ControlFrame(chunk))) return ReaderGone();
  ReadAhead ahead(file.fd);
  std::uint32_t sum = 0;
  for (std::int64_t offset = 0; offset < file.bytes;) {
    ahead.Reach(offset);
    PiecePool::Piece piece = pieces_->Take();
    const Result<std::size_t> bytes = ReadPiece(file, offset, piece.get());
    if (!bytes.ok()) return bytes.status();
    sum = checkpoint::Crc32c(std::span(piece.get(), *bytes), sum);
    if (!call.Send(DataFrame(pieces_->Lend(std::move(piece), *bytes)))) return ReaderGone();
    offset += static_cast<std::int64_t>(*bytes);
  }
  struct stat now {};
  if (::fstat(file.fd, &now) != 0 || now.st_size != file.bytes) {
    return Status(StatusCode::kAborted, file.name + " changed while it was read");
  }
  ++call.files;
  call.bytes += file.bytes;
  chunk.mutable_end()->set_crc32c(sum);
  return call.Send(ControlFrame(chunk)) ? Status::Ok() : ReaderGone();
}

}  // namespace glim::nodeagent
