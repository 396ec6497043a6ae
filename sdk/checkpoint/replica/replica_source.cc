#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/manifest_merge.h"
#include "sdk/checkpoint/replica/replica_client.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

Status LostCopy(const std::string& what) { return {StatusCode::kDataLoss, "replica: " + what}; }

class Source final : public ReplicaSource {
 public:
  explicit Source(const ReplicaOptions& options) : options_(options) {}

  Status Connect(const std::vector<std::string>& peers);
  Result<std::vector<CheckpointId>> Whole() override;
  std::uint32_t connected() const override { return static_cast<std::uint32_t>(clients_.size()); }
  const std::vector<std::string>& failures() const override { return failures_; }
  std::vector<std::string> holders() const override;
  Result<Manifest> ReadManifest(CheckpointId id) override;
  Result<IoReport> Read(CheckpointId id, const Manifest& manifest, std::span<const ReadRange> ranges,
                        const std::function<Status(std::size_t)>& done) override;

 private:
  // Who holds which ranks of a checkpoint.
  struct Holders {
    std::uint32_t world = 0;
    std::map<std::uint32_t, ReplicaClient*> ranks;
    bool whole() const { return ranks.size() == world; }
  };
  struct OpenShard {
    ReplicaClient* client = nullptr;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    ucp_rkey_h key = nullptr;
  };
  struct Get {
    ReplicaClient* client;
    std::size_t range;
    bool last;  // of its range
  };

  Result<std::map<CheckpointId, Holders>> Ask();
  Result<Part> OpenPart(CheckpointId id, std::uint32_t rank, std::uint32_t world, ReplicaClient& client);
  Status CheckRanges(const Manifest& manifest, std::span<const ReadRange> ranges) const;
  // Nothing arrives in the caller's memory any more: waits for it, or ends the connection.
  void Quiet();
  Status SettleOldest(std::deque<Get>& under_way, const std::function<Status(std::size_t)>& done);

  ReplicaOptions options_;
  std::vector<std::string> failures_;
  std::vector<std::unique_ptr<ReplicaClient>> clients_;
  std::optional<CheckpointId> open_;
  std::map<std::string, OpenShard> shards_;  // of open_, by file
};

Status Source::Connect(const std::vector<std::string>& peers) {
  std::shared_ptr<net::ucx::Worker> worker;
  Status last = InvalidArgument("peers", "there are none");
  for (const std::string& text : peers) {
    const Result<ReplicaPeer> peer = ParsePeer(text);
    if (!peer.ok()) return peer.status();
    Result<net::SocketAddress> address = net::ParseAddress(peer->address);
    if (!address.ok()) return address.status();
    if (worker == nullptr) {
      Result<std::shared_ptr<net::ucx::Worker>> opened = OpenWorkerFor(*address, options_);
      if (!opened.ok()) return opened.status();
      worker = *opened;
    }
    Result<std::unique_ptr<ReplicaClient>> client = ReplicaClient::Connect(*peer, worker, options_);
    if (client.ok()) {
      clients_.push_back(std::move(client).value());
    } else {
      last = client.status();
      failures_.push_back(client.status().message());
    }
  }
  return clients_.empty() ? last : Status::Ok();
}

Result<std::map<CheckpointId, Source::Holders>> Source::Ask() {
  std::map<CheckpointId, Holders> found;
  for (const auto& client : clients_) {
    std::uint32_t from_rank = 0;
    for (bool more = true; more;) {
      Result<Listing> listing = client->Ask<Listing>(List{from_rank});
      if (!listing.ok() && client->usable()) return listing.status();
      if (!listing.ok()) break;
      for (const Listed& entry : listing->entries) {
        Holders& holders = found[{entry.id.attempt, entry.id.step}];
        if (holders.world == 0) holders.world = entry.size.world;
        if (holders.world == entry.size.world && entry.id.rank < holders.world) {
          holders.ranks[entry.id.rank] = client.get();
        }
        from_rank = std::max(from_rank, entry.id.rank + 1);
      }
      more = listing->more && !listing->entries.empty();
    }
  }
  // What a service that has gone away meanwhile has said does not count.
  for (auto& [id, holders] : found) {
    std::erase_if(holders.ranks, [](const auto& held) { return !held.second->usable(); });
  }
  Quiet();
  if (clients_.empty()) return Status(StatusCode::kUnavailable, "no replica service is left: " + failures_.back());
  return found;
}

Result<std::vector<CheckpointId>> Source::Whole() {
  Result<std::map<CheckpointId, Holders>> found = Ask();
  if (!found.ok()) return found.status();
  std::vector<CheckpointId> whole;
  for (const auto& [id, holders] : *found) {
    if (holders.whole()) whole.push_back(id);
  }
  return whole;
}

std::vector<std::string> Source::holders() const {
  std::set<std::string> peers;
  for (const auto& [file, shard] : shards_) peers.insert(shard.client->peer());
  return {peers.begin(), peers.end()};
}

Result<Part> Source::OpenPart(CheckpointId id, std::uint32_t rank, std::uint32_t world, ReplicaClient& client) {
  const std::string whose = "rank " + std::to_string(rank) + " on " + client.peer();
  Result<Opened> opened = client.Ask<Opened>(checkpoint::Open{{id.attempt, id.step, rank}});
  if (!opened.ok()) return opened.status();
  if (opened->size.world != world || opened->size.part_bytes > kManifestBytesMax) {
    return LostCopy(whose + ": what was listed is not what is there");
  }
  const Result<ucp_rkey_h> key = client.Unpack(opened->key);
  if (!key.ok()) return key.status();
  std::string json(opened->size.part_bytes, '\0');
  const auto into = std::as_writable_bytes(std::span(json));
  if (!into.empty()) {
    const std::uint64_t from = opened->address + opened->size.image_bytes;
    if (Status status = client.StartGet(into, from, *key); !status.ok()) return status;
  }
  if (Status status = client.Settle(0); !status.ok()) return status;
  if (Crc32c(into) != opened->part_crc32c) return LostCopy("the part of " + whose + " has a wrong checksum");
  Result<Part> part = ParsePart(json);
  if (!part.ok()) return LostCopy(whose + ": " + part.status().message());
  const Manifest& manifest = part->manifest;
  if (part->rank != rank || manifest.attempt != id.attempt || manifest.step != id.step || manifest.shards.size() != 1 ||
      manifest.shards[0].bytes > opened->size.image_bytes) {
    return LostCopy("the part of " + whose + " is another's");
  }
  shards_[manifest.shards[0].file] = {&client, opened->address, manifest.shards[0].bytes, *key};
  return part;
}

Result<Manifest> Source::ReadManifest(CheckpointId id) {
  open_.reset();
  shards_.clear();
  Result<std::map<CheckpointId, Holders>> found = Ask();
  if (!found.ok()) return found.status();
  const auto held = found->find(id);
  if (held == found->end()) return Status(StatusCode::kNotFound, "no neighbour holds " + PathOf(id));
  if (!held->second.whole()) {
    return Status(StatusCode::kNotFound, "the neighbours hold the shards of only " +
                                             std::to_string(held->second.ranks.size()) + " of " +
                                             std::to_string(held->second.world) + " ranks of " + PathOf(id));
  }
  std::vector<Manifest> parts;
  for (const auto& [rank, client] : held->second.ranks) {
    Result<Part> part = OpenPart(id, rank, held->second.world, *client);
    if (!part.ok()) return part.status();
    parts.push_back(std::move(part->manifest));
  }
  Result<Manifest> merged = Merge(std::move(parts));
  if (!merged.ok()) return LostCopy(merged.status().message());
  open_ = id;
  return merged;
}

Status Source::CheckRanges(const Manifest& manifest, std::span<const ReadRange> ranges) const {
  for (const ReadRange& range : ranges) {
    if (range.file >= manifest.shards.size()) return InvalidArgument("ranges", "a shard that the manifest has not");
    const std::string& file = manifest.shards[range.file].file;
    const auto shard = shards_.find(file);
    if (shard == shards_.end()) return InvalidArgument("manifest", "it is of another checkpoint");
    if (range.offset > shard->second.bytes || range.into.size() > shard->second.bytes - range.offset) {
      return LostCopy(file + " is shorter than what is to be read of it");
    }
  }
  return Status::Ok();
}

Status Source::SettleOldest(std::deque<Get>& under_way, const std::function<Status(std::size_t)>& done) {
  const Get oldest = under_way.front();
  under_way.pop_front();
  std::size_t left = 0;
  for (const Get& get : under_way) left += get.client == oldest.client ? 1 : 0;
  if (Status status = oldest.client->Settle(left); !status.ok()) return status;
  return oldest.last ? done(oldest.range) : Status::Ok();
}

void Source::Quiet() {
  for (const auto& client : clients_) {
    if (client->usable()) (void)client->Settle(0);
  }
  const auto gone = std::erase_if(clients_, [this](const auto& client) {
    if (!client->usable()) failures_.push_back(client->peer() + ": the connection was lost");
    return !client->usable();
  });
  if (gone == 0) return;
  open_.reset();
  shards_.clear();
}

Result<IoReport> Source::Read(CheckpointId id, const Manifest& manifest, std::span<const ReadRange> ranges,
                              const std::function<Status(std::size_t)>& done) {
  const auto begin = std::chrono::steady_clock::now();
  if (open_ != id) {
    if (Result<Manifest> opened = ReadManifest(id); !opened.ok()) return opened.status();
  }
  if (Status checked = CheckRanges(manifest, ranges); !checked.ok()) return checked;
  IoReport report;
  std::deque<Get> under_way;
  Status status;
  for (std::size_t i = 0; i < ranges.size() && status.ok(); ++i) {
    const ReadRange& range = ranges[i];
    const OpenShard& shard = shards_.at(manifest.shards[range.file].file);
    if (range.into.empty()) status = done(i);
    for (std::size_t at = 0; at < range.into.size() && status.ok(); at += options_.block_bytes) {
      const auto block = range.into.subspan(at, std::min<std::size_t>(options_.block_bytes, range.into.size() - at));
      while (under_way.size() >= options_.depth && status.ok()) status = SettleOldest(under_way, done);
      if (status.ok()) status = shard.client->StartGet(block, shard.address + range.offset + at, shard.key);
      if (status.ok()) under_way.push_back({shard.client, i, at + block.size() == range.into.size()});
    }
    report.bytes += range.into.size();
  }
  while (!under_way.empty() && status.ok()) status = SettleOldest(under_way, done);
  if (!status.ok()) {
    Quiet();
    return status;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  report.micros = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  return report;
}

}  // namespace

Result<std::unique_ptr<ReplicaSource>> OpenReplicaSource(const std::vector<std::string>& peers,
                                                         const ReplicaOptions& options) {
  if (Status checked = CheckReplicaOptions(options); !checked.ok()) return checked;
  auto source = std::make_unique<Source>(options);
  if (Status connected = source->Connect(peers); !connected.ok()) return connected;
  return std::unique_ptr<ReplicaSource>(std::move(source));
}

Status DropReplicas(const std::string& peer, const ReplicaOptions& options) {
  if (Status checked = CheckReplicaOptions(options); !checked.ok()) return checked;
  const Result<ReplicaPeer> parsed = ParsePeer(peer);
  if (!parsed.ok()) return parsed.status();
  Result<net::SocketAddress> address = net::ParseAddress(parsed->address);
  if (!address.ok()) return address.status();
  Result<std::shared_ptr<net::ucx::Worker>> worker = OpenWorkerFor(*address, options);
  if (!worker.ok()) return worker.status();
  Result<std::unique_ptr<ReplicaClient>> client = ReplicaClient::Connect(*parsed, *worker, options);
  if (!client.ok()) return client.status();
  return (*client)->Ask<Done>(Drop{}).status();
}

}  // namespace glim::checkpoint
