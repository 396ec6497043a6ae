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
  explicit Call(std::chrono::milliseconds patience) : idle(patience), writer(&context) {}
  ~Call() {
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
  }

  void Finish(const grpc::Status& status) {
    writer.Finish(status, this);
    void* tag = nullptr;
    bool ok = false;
    (void)queue.Next(&tag, &ok);
  }
  // Waits until the message before is through, then sends.
  bool Send(const grpc::ByteBuffer& message) {
    if (!Flush()) return false;
    writer.Write(message, this);
    writing = true;
    return true;
  }
  bool Flush() {
    if (!std::exchange(writing, false)) return true;
    void* tag = nullptr;
    bool ok = false;
    if (queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + idle) == grpc::CompletionQueue::TIMEOUT) {
      context.TryCancel();
      (void)queue.Next(&tag, &ok);
      return false;
    }
    return ok;
  }

  grpc::CompletionQueue queue;
  const std::chrono::milliseconds idle;
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
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
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
  self->server_ = builder.BuildAndStart();
  if (!self->server_ || port == 0) {
    return Status(StatusCode::kUnavailable, "cannot listen on " + listen + " for copies of saves")
        .WithField("--saves-listen")
        .WithFix("name an address of this node and a port that is free");
  }
  self->address_ = listen.substr(0, listen.rfind(':')) + ":" + std::to_string(port);
  self->taking_in_ = std::thread([server = self.get()] { server->TakeIn(); });
  return self;
}

SaveServer::~SaveServer() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  if (taking_in_.joinable()) taking_in_.join();
  for (Worker& worker : workers_) worker.thread.join();
  arrivals_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (arrivals_->Next(&tag, &ok)) {
  }
}

void SaveServer::TakeIn() {
  for (;;) {
    auto call = std::make_shared<Call>(options_.idle);
    service_.RequestFetch(&call->context, &call->request, &call->writer, &call->queue, arrivals_.get(), call.get());
    void* tag = nullptr;
    bool ok = false;
    if (!arrivals_->Next(&tag, &ok) || !ok) return;  // the server is shutting down
    std::erase_if(workers_, [](Worker& worker) {
      if (!worker.over->load()) return false;
      worker.thread.join();
      return true;
    });
    if (workers_.size() >= options_.fetches_at_once) {
      call->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "node " + options_.node + " is giving " +
                                                              std::to_string(options_.fetches_at_once) +
                                                              " copies of saves already"});
      continue;
    }
    Begin(std::move(call));
  }
}

void SaveServer::Begin(std::shared_ptr<Call> call) {
  auto over = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([this, over, call = std::move(call)]() mutable {
    call->Finish(Answer(*call));
    call.reset();
    over->store(true);
  });
  workers_.push_back({std::move(thread), std::move(over)});
}

grpc::Status SaveServer::Answer(Call& call) {
  v1::FetchRequest request;
  if (!grpc::SerializationTraits<v1::FetchRequest>::Deserialize(&call.request, &request).ok()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "this is no FetchRequest"};
  }
  Status status = Allow(request);
  if (status.ok()) status = SendSave(call, request);
  if (!call.Flush() && status.ok()) status = ReaderGone();
  return ToGrpc(status);
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
