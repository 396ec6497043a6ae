#include "sdk/hfreduce/transport/agree.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/hfreduce/transport/choice.h"
#include "sdk/hfreduce/transport/connect_transport.h"
#include "sdk/hfreduce/transport/probe.h"
#include "sdk/hfreduce/transport/ucx_transport.h"
#include "sdk/hfreduce/transport/verbs_offer.h"
#include "sdk/net/deadline.h"

namespace glim::hfreduce {
namespace {

// What is written into the store: fields between line ends, the last one as it is.
constexpr std::size_t kFields = 5;
using Fields = std::array<std::string, kFields>;

std::string Join(Fields fields) {
  std::string text;
  for (std::size_t i = 0; i < kFields; ++i) {
    for (char& c : fields[i]) c = c == '\n' ? ' ' : c;
    text += (i == 0 ? "" : "\n") + fields[i];
  }
  return text;
}

Fields Split(const std::string& text) {
  Fields fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kFields && at <= text.size(); ++i) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    fields[i] = text.substr(at, end - at);
    at = end + 1;
  }
  return fields;
}

constexpr char kError[] = "error";

std::string Join(const Status& error) {
  return Join({kError, std::to_string(static_cast<int>(error.code())), error.field(), error.fix(), error.message()});
}

Status ErrorIn(const Fields& fields) {
  const int code = std::atoi(fields[1].c_str());
  return Status(code > 0 && code <= 16 ? static_cast<StatusCode>(code) : StatusCode::kInternal, fields[4])
      .WithField(fields[2])
      .WithFix(fields[3]);
}

std::string Key(const char* what, const std::string& id, NodeIndex node) {
  return std::string(what) + "/" + id + "/" + std::to_string(node);
}

std::string WhichNode(NodeIndex node) { return "node " + std::to_string(node); }

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

const char* NameOf(Choice::Way way) {
  switch (way) {
    case Choice::Way::kTcp: return "TCP";
    case Choice::Way::kUcxTcp: return "UCX's tcp";
    case Choice::Way::kVerbs: return "verbs";
  }
  return "";
}

class Agreement {
 public:
  Agreement(const AgreeOptions& options, NodeIndex self, NodeIndex nodes, std::span<const NodeIndex> peers,
            Store& store, Duration timeout)
      : options_(options), self_(self), nodes_(nodes), peers_(peers), store_(store), deadline_(timeout) {}

  Result<Agreed> Run();

 private:
  Result<std::vector<Fields>> Gather(const char* what);
  // Node 0 chooses by `choose`, from what every node has said under `what`; all learn of it under `answer`.
  template <typename ChooseFrom>
  Result<Choice> Settle(const char* what, const std::string& said, const char* answer, const ChooseFrom& choose);
  Result<std::unique_ptr<Transport>> Connect(Choice::Way way, const char* id_suffix, Duration timeout);
  Result<std::unique_ptr<Transport>> TryVerbs();
  Result<Choice> HearWhoFailed(const Status& own);
  std::string LineOf(const Choice& choice) const;

  const AgreeOptions& options_;
  const NodeIndex self_, nodes_;
  const std::span<const NodeIndex> peers_;
  Store& store_;
  const net::Deadline deadline_;
  VerbsWish wish_;
  std::vector<net::RdmaPort> ports_;
  VerbsOffer offer_;
};

Result<std::vector<Fields>> Agreement::Gather(const char* what) {
  std::vector<Fields> all;
  for (NodeIndex node = 0; node < nodes_; ++node) {
    const Result<std::string> said = store_.Get(Key(what, options_.transport.id, node), deadline_.Remaining());
    if (!said.ok()) {
      return Status(said.status().code(), WhichNode(node) + " is missing: " + said.status().message());
    }
    all.push_back(Split(*said));
    if (all.back()[0] == kError && what == std::string_view("offer")) return ErrorIn(all.back());
  }
  return all;
}

template <typename ChooseFrom>
Result<Choice> Agreement::Settle(const char* what, const std::string& said, const char* answer,
                                 const ChooseFrom& choose) {
  const std::string& id = options_.transport.id;
  const Status written = store_.Set(Key(what, id, self_), said);
  if (written.code() == StatusCode::kAlreadyExists) {
    // Another rank of this node has refused for it, or another process has its number.
    const Result<std::string> there = store_.Get(Key(what, id, self_), deadline_.Remaining());
    if (there.ok() && Split(*there)[0] == kError) {
      if (self_ == 0) (void)store_.Set(Key(answer, id, 0), *there);
      return ErrorIn(Split(*there));
    }
    return Status(StatusCode::kAlreadyExists,
                  "two processes say that they are " + WhichNode(self_) + " of communicator " + id);
  }
  if (!written.ok()) return written;
  if (self_ == 0) {
    const Result<std::vector<Fields>> all = Gather(what);
    const Choice chosen = all.ok() ? choose(*all) : Choice{Choice::Way::kTcp, "", all.status()};
    const std::string text = chosen.error.ok()
                                 ? Join({"way", std::to_string(static_cast<int>(chosen.way)), "", "", chosen.why})
                                 : Join(chosen.error);
    if (Status told = store_.Set(Key(answer, id, 0), text); !told.ok()) return told;
    return chosen.error.ok() ? Result<Choice>(chosen) : Result<Choice>(chosen.error);
  }
  const Result<std::string> heard = store_.Get(Key(answer, id, 0), deadline_.Remaining());
  if (!heard.ok()) return Status(heard.status().code(), "node 0 has not chosen: " + heard.status().message());
  const Fields fields = Split(*heard);
  if (fields[0] == kError) return ErrorIn(fields);
  return Choice{static_cast<Choice::Way>(std::atoi(fields[1].c_str())), fields[4], Status::Ok()};
}

Result<std::unique_ptr<Transport>> Agreement::Connect(Choice::Way way, const char* id_suffix, Duration timeout) {
  TransportOptions how = options_.transport;
  how.kind = way == Choice::Way::kTcp ? TransportKind::kTcp : TransportKind::kUcx;
  how.id += id_suffix;
  how.ucx_tls = way == Choice::Way::kVerbs ? offer_.tls : "tcp";
  if (way == Choice::Way::kVerbs) how.ucx_net_devices = offer_.devices;
  if (way == Choice::Way::kUcxTcp) how.ucx_net_devices = InterfacesAmong(wish_, ports_);
  return ConnectTransport(how, self_, peers_, store_, timeout);
}

Result<std::unique_ptr<Transport>> Agreement::TryVerbs() {
  const net::Deadline half(Milliseconds(deadline_.Remaining().ms / 2));
  Result<std::unique_ptr<Transport>> made = Connect(Choice::Way::kVerbs, "", half.Remaining());
  if (!made.ok()) return made;
  if (Status reached = Probe(**made, peers_, half); !reached.ok()) return reached;
  return made;
}

// Of the nodes that failed one that did so by itself says more than those that only missed it.
Result<Choice> Agreement::HearWhoFailed(const Status& own) {
  const std::string over = " (" + offer_.tls + " on " + offer_.devices + "): ";
  const Status told = Status(own.code(), WhichNode(self_) + over + own.message()).WithFix(own.fix());
  return Settle("reached", own.ok() ? Join({"ok", "", "", "", ""}) : Join(told), "settled",
                [&](const std::vector<Fields>& all) {
                  const Fields* worst = nullptr;
                  for (const Fields& fields : all) {
                    if (fields[0] != kError) continue;
                    const bool by_itself = ErrorIn(fields).code() == StatusCode::kResourceExhausted ||
                                           fields[4].find("): node ") == std::string::npos;
                    if (worst == nullptr || by_itself) worst = &fields;
                    if (by_itself) break;
                  }
                  return worst == nullptr ? Choice{Choice::Way::kVerbs, "", Status::Ok()}
                                          : ChooseWithoutVerbs(options_.wanted, ErrorIn(*worst));
                });
}

std::string Agreement::LineOf(const Choice& choice) const {
  if (options_.wanted != "auto" && options_.wanted != "ucx") return "";
  std::string line = std::to_string(nodes_) + " nodes talk over " + NameOf(choice.way);
  if (choice.way == Choice::Way::kVerbs) line += " (" + offer_.tls + " on " + offer_.devices + " here)";
  return choice.why.empty() ? line : line + "; " + choice.why;
}

Result<Agreed> Agreement::Run() {
  wish_ = {.devices = options_.transport.ucx_net_devices,
           .variables = net::UcxVariablesOfProcess(),
           .stays_here = IsLoopback(options_.transport.listen_address),
           .built = UcxIsBuilt()};
  ports_ = net::RdmaPorts(options_.rdma_folder);
  offer_ = OfferVerbs(wish_, ports_);
  const std::string offered = Join({"offer", offer_.tls, offer_.devices, offer_.named ? "named" : "", offer_.why_not});
  Result<Choice> choice = Settle("offer", offered, "chosen", [&](const std::vector<Fields>& all) {
    std::vector<VerbsOffer> offers;
    offers.reserve(all.size());
    for (const Fields& fields : all) offers.push_back({fields[1], fields[2], fields[4], fields[3] == "named"});
    return Choose(options_.wanted, offers);
  });
  if (!choice.ok()) return choice.status();
  if (choice->way != Choice::Way::kVerbs) {
    Result<std::unique_ptr<Transport>> made = Connect(choice->way, "", deadline_.Remaining());
    if (!made.ok()) return made.status();
    return Agreed{std::move(made).value(), LineOf(*choice)};
  }
  Result<std::unique_ptr<Transport>> verbs = TryVerbs();
  choice = HearWhoFailed(verbs.status());
  if (!choice.ok()) return choice.status();
  if (choice->way == Choice::Way::kVerbs && verbs.ok()) return Agreed{std::move(verbs).value(), LineOf(*choice)};
  verbs = Status(StatusCode::kAborted, "given up");  // what it holds is free before the next one is made
  Result<std::unique_ptr<Transport>> made = Connect(choice->way, "/2", deadline_.Remaining());
  if (!made.ok()) return made.status();
  return Agreed{std::move(made).value(), LineOf(*choice)};
}

}  // namespace

Result<Agreed> ConnectAgreed(const AgreeOptions& options, NodeIndex self, NodeIndex nodes,
                             std::span<const NodeIndex> peers, Store& store, Duration timeout) {
  return Agreement(options, self, nodes, peers, store, timeout).Run();
}

void RefuseToAgree(const std::string& id, NodeIndex self, Store& store, const Status& why) {
  // Where this cannot be written the others time out.
  (void)store.Set(Key("offer", id, self), Join(why));
}

}  // namespace glim::hfreduce
