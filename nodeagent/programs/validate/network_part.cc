#include "nodeagent/programs/validate/network_part.h"

#include <poll.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include <nlohmann/json.hpp>

#include "nodeagent/programs/validate/pair_test.h"
#include "nodeagent/validate/judge.h"
#include "nodeagent/validate/pairs.h"
#include "sdk/base/host_port.h"
#include "sdk/hfreduce/environment/environment.h"
#include "sdk/hfreduce/rendezvous/tcp_store.h"
#include "sdk/io/random_bytes.h"
#include "sdk/net/socket.h"
#include "sdk/task_environment/variable_reader.h"

namespace glim::validate {
namespace {

constexpr double kQuickPairSeconds = 0.5;
constexpr double kFullPairSeconds = 3;
constexpr Duration kPatience = Seconds(120);  // until all ranks are here; a pair may have others before it
constexpr int kTimes = 3;
constexpr std::size_t kTokenBytes = 16;

struct Meeting {
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  hfreduce::Secret secret{};
};

Result<Meeting> MeetingOfJob() {
  const VariableLookup own = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  if (!own(NameOf(TaskVariable::kNodes)) && !own(NameOf(TaskVariable::kWorldSize))) return Meeting();
  const Result<hfreduce::Environment> environment = hfreduce::EnvironmentOf(own, {});
  if (!environment.ok()) return environment.status();
  if (environment->topology.nodes.size() == 1) return Meeting();
  if (environment->topology.ranks() != environment->topology.nodes.size()) {
    return Status(StatusCode::kFailedPrecondition, "the network is measured by one process a node")
        .WithFix("run it with launcher: node");
  }
  Meeting meeting{environment->store_host, environment->store_port, environment->rank, environment->topology.ranks()};
  if (!environment->secret_file.empty()) {
    Result<hfreduce::Secret> secret = hfreduce::Secret::Read(environment->secret_file, environment->attempt);
    if (!secret.ok()) return secret.status();
    meeting.secret = std::move(*secret);
  }
  return meeting;
}

Result<Meeting> MeetingOf(const Options& options) {
  if (options.alone) return Meeting();
  if (options.rendezvous.empty()) return MeetingOfJob();
  if (const auto read = ParseHostPort("--rendezvous", options.rendezvous); !read.ok()) return read.status();
  const Result<net::SocketAddress> address = net::ParseAddress(options.rendezvous);
  if (!address.ok()) return address.status();
  return Meeting{address->Host(), address->port(), options.rank, options.ranks};
}

class Ranks {
 public:
  Ranks(Meeting meeting, double seconds) : meeting_(std::move(meeting)), seconds_(seconds) {}

  Readings Run(const WantsMore& more) {
    if (Status met = Meet(); !met.ok()) return met;
    std::vector<PairReading> all;
    for (int time = 0;; ++time) {
      Result<std::vector<PairReading>> own = MeasureOwnPairs();
      if (!own.ok()) return own.status();
      const std::string key = std::to_string(time);
      if (meeting_.rank != 0) {
        if (Status told = store_->Set("pairs/" + key + "/" + std::to_string(meeting_.rank), TextOf(*own)); !told.ok()) {
          return told;
        }
        const Result<std::string> next = store_->Get("next/" + key, kPatience);
        if (!next.ok()) return next.status();
        if (*next != "again") return Leave();
        continue;
      }
      Result<std::vector<PairReading>> now = Collect(std::move(*own), key);
      if (!now.ok()) return now.status();
      if (time == 0) all = *now;
      const std::vector<Reading> better = BetterOf(ReadingsOf(all), ReadingsOf(*now));
      for (std::size_t i = 0; i < all.size(); ++i) all[i].reading = better[i];
      const bool again = time + 1 < kTimes && more(better);
      if (Status told = store_->Set("next/" + key, again ? "again" : "done"); !told.ok()) return told;
      if (again) continue;
      if (Status left = AwaitAll("left/"); !left.ok()) return left;
      return WithSlowestNoted(std::move(all), names_);
    }
  }

 private:
  // What each rank says: "10.0.0.1:4000 TOKEN". Who connects there shows the token, and its own rank.
  Status Meet() {
    auto store = hfreduce::TcpStore::Create({.host = meeting_.host,
                                             .port = meeting_.port,
                                             .serve = meeting_.rank == 0,
                                             .timeout = kPatience,
                                             .secret = meeting_.secret});
    if (!store.ok()) return store.status();
    store_ = std::move(*store);
    const Result<net::SocketAddress> there = net::ResolveAddress(meeting_.host, meeting_.port);
    if (!there.ok()) return there.status();
    const Result<net::SocketAddress> own = net::OwnAddressTowards(*there);
    if (!own.ok()) return own.status();
    Result<UniqueFd> listener = net::Listen(*own);
    if (!listener.ok()) return listener.status();
    listener_ = std::move(*listener);
    const Result<net::SocketAddress> address = net::LocalAddress(listener_.get());
    if (!address.ok()) return address.status();
    token_ = RandomHex(kTokenBytes);
    if (Status told = store_->Set("address/" + std::to_string(meeting_.rank), address->ToString() + " " + token_);
        !told.ok()) {
      return told;
    }
    for (std::uint32_t rank = 0; rank < meeting_.ranks; ++rank) {
      const Result<std::string> said = store_->Get("address/" + std::to_string(rank), kPatience);
      if (!said.ok()) return said.status();
      const std::size_t blank = said->find(' ');
      if (blank == std::string::npos)
        return Status(StatusCode::kInternal, "rank " + std::to_string(rank) + " says no address");
      Result<net::SocketAddress> at = net::ParseAddress(said->substr(0, blank));
      if (!at.ok()) return at.status();
      names_.push_back(at->Host());
      addresses_.push_back(*at);
      tokens_.push_back(said->substr(blank + 1));
    }
    return Status::Ok();
  }

  Result<std::vector<PairReading>> MeasureOwnPairs() {
    std::vector<PairReading> own;
    for (const auto& round : RoundsOf(meeting_.ranks)) {
      for (const auto& [low, high] : round) {
        if (low != meeting_.rank && high != meeting_.rank) continue;
        const bool first = low == meeting_.rank;
        Result<UniqueFd> connection = first ? Connect(high) : Expect(low);
        if (!connection.ok()) return connection.status();
        const Result<PairFigures> figures = TestPair(*connection, first, seconds_);
        if (!figures.ok()) {
          return Status(figures.status().code(),
                        "between " + names_[low] + " and " + names_[high] + ": " + figures.status().message());
        }
        if (first) Add(own, low, high, *figures);
      }
    }
    return own;
  }

  void Add(std::vector<PairReading>& own, std::uint32_t low, std::uint32_t high, const PairFigures& figures) const {
    const auto add = [&](std::uint32_t from, std::uint32_t to, const char* what, const char* between, double value) {
      own.push_back({from,
                     to,
                     {.part = "network",
                      .what = what,
                      .device = names_[from] + between + names_[to],
                      .value = value,
                      .wrong = {},
                      .note = {}}});
    };
    add(low, high, "stream", " -> ", figures.sent_mbps);
    add(high, low, "stream", " -> ", figures.received_mbps);
    add(low, high, "latency", " <-> ", figures.latency_us);
  }

  Result<UniqueFd> Connect(std::uint32_t to) {
    const net::Deadline deadline(kPatience);
    Result<UniqueFd> connection = net::StartConnect(addresses_[to]);
    if (!connection.ok()) return connection.status();
    if (!net::AwaitReady(connection->get(), POLLOUT, deadline)) return NoWord(to);
    if (const int error = net::ConnectError(connection->get()); error != 0) {
      return Status(StatusCode::kUnavailable, names_[to] + ": " + net::ErrnoText(error));
    }
    const std::string hello = tokens_[to] + Padded(meeting_.rank);
    // So few bytes fit into the buffer of a new socket.
    if (::send(connection->get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) {
      return NoWord(to);
    }
    return connection;
  }

  // Others may come before their turn: they wait.
  Result<UniqueFd> Expect(std::uint32_t from) {
    const net::Deadline deadline(kPatience);
    while (!waiting_.contains(from)) {
      if (!net::AwaitReady(listener_.get(), POLLIN, deadline)) return NoWord(from);
      UniqueFd connection = net::Accept(listener_.get());
      if (!connection) continue;
      std::string hello(token_.size() + kRankDigits, '\0');
      // A stranger, who shows no token, keeps nobody for longer than this.
      const net::Deadline soon(Seconds(2));
      std::size_t got = 0;
      while (got < hello.size() && net::AwaitReady(connection.get(), POLLIN, soon)) {
        const ssize_t more = ::recv(connection.get(), hello.data() + got, hello.size() - got, 0);
        if (more <= 0) break;
        got += static_cast<std::size_t>(more);
      }
      if (got < hello.size() || hello.substr(0, token_.size()) != token_) continue;
      const auto rank = static_cast<std::uint32_t>(std::strtoul(hello.c_str() + token_.size(), nullptr, 10));
      waiting_[rank] = std::move(connection);
    }
    return std::move(waiting_.extract(from).mapped());
  }

  Result<std::vector<PairReading>> Collect(std::vector<PairReading> readings, const std::string& key) {
    for (std::uint32_t rank = 1; rank < meeting_.ranks; ++rank) {
      const Result<std::string> text = store_->Get("pairs/" + key + "/" + std::to_string(rank), kPatience);
      if (!text.ok()) return text.status();
      const auto listed = nlohmann::json::parse(*text, nullptr, false);
      if (!listed.is_array())
        return Status(StatusCode::kInternal, "rank " + std::to_string(rank) + " says no readings");
      for (const auto& one : listed) {
        readings.push_back(
            {one[0],
             one[1],
             {.part = "network", .what = one[2], .device = one[3], .value = one[4], .wrong = {}, .note = {}}});
      }
    }
    return readings;
  }

  static std::vector<Reading> ReadingsOf(const std::vector<PairReading>& pairs) {
    std::vector<Reading> readings;
    for (const PairReading& one : pairs) readings.push_back(one.reading);
    return readings;
  }

  static std::string TextOf(const std::vector<PairReading>& readings) {
    auto listed = nlohmann::json::array();
    for (const PairReading& one : readings) {
      listed.push_back({one.from, one.to, one.reading.what, one.reading.device, one.reading.value});
    }
    return listed.dump();
  }

  // Rank 0 serves the store until all have what they need.
  Readings Leave() {
    Status told = store_->Set("left/" + std::to_string(meeting_.rank), "1");
    if (!told.ok()) return told;
    return std::vector<Reading>();
  }

  Status AwaitAll(const std::string& prefix) {
    for (std::uint32_t rank = 1; rank < meeting_.ranks; ++rank) {
      const Result<std::string> here = store_->Get(prefix + std::to_string(rank), kPatience);
      if (!here.ok()) return here.status();
    }
    return Status::Ok();
  }

  static constexpr std::size_t kRankDigits = 8;
  static std::string Padded(std::uint32_t rank) {
    const std::string digits = std::to_string(rank);
    return std::string(kRankDigits - digits.size(), '0') + digits;
  }
  Status NoWord(std::uint32_t rank) const {
    return Status(StatusCode::kUnavailable,
                  "rank " + std::to_string(rank) + " at " + names_[rank] + " does not answer");
  }

  const Meeting meeting_;
  const double seconds_;
  std::unique_ptr<hfreduce::TcpStore> store_;
  UniqueFd listener_;
  std::string token_;
  std::vector<std::string> names_;  // by rank
  std::vector<net::SocketAddress> addresses_;
  std::vector<std::string> tokens_;
  std::map<std::uint32_t, UniqueFd> waiting_;
};

Readings Loopback(double seconds) {
  const Result<net::SocketAddress> here = net::ResolveAddress("127.0.0.1", 0);
  if (!here.ok()) return here.status();
  const Result<UniqueFd> listener = net::Listen(*here);
  if (!listener.ok()) return listener.status();
  const Result<net::SocketAddress> address = net::LocalAddress(listener->get());
  if (!address.ok()) return address.status();
  const Result<UniqueFd> one = net::StartConnect(*address);
  if (!one.ok()) return one.status();
  if (!net::AwaitReady(listener->get(), POLLIN, net::Deadline(Seconds(10)))) {
    return Status(StatusCode::kUnavailable, "the loopback interface takes no connection");
  }
  const UniqueFd other = net::Accept(listener->get());
  Result<PairFigures> figures = Status(StatusCode::kInternal, "not measured");
  std::thread echo([&] { (void)TestPair(other, false, seconds); });
  figures = TestPair(*one, true, seconds);
  echo.join();
  if (!figures.ok()) return figures.status();
  Reading reading{.part = "network",
                  .what = "loopback",
                  .device = "lo",
                  .value = figures->sent_mbps,
                  .wrong = {},
                  .note = Shown(figures->latency_us) + " us there and back"};
  return std::vector<Reading>{std::move(reading)};
}

}  // namespace

Readings MeasureNetwork(const Options& options, const WantsMore& more) {
  Result<Meeting> meeting = MeetingOf(options);
  if (!meeting.ok()) return meeting.status();
  const double seconds = options.full ? kFullPairSeconds : kQuickPairSeconds;
  if (meeting->ranks < 2) return Loopback(seconds);
  return Ranks(std::move(*meeting), seconds).Run(more);
}

}  // namespace glim::validate
