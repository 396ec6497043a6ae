#include "sdk/hfreduce/transport/verbs_offer.h"

#include <algorithm>
#include <sstream>

namespace glim::hfreduce {
namespace {

constexpr char kReliable[] = "rc";  // UCX's name for connections that the card keeps in order and repeats

std::vector<std::string> Names(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// UCX_TLS may name transports, or, behind a '^', those to be left out. Empty: no verbs among them.
std::string VerbsAmong(const std::string& variable) {
  if (variable.empty() || variable == "all") return kReliable;
  const bool left_out = variable.front() == '^';
  const bool any = net::NamesVerbs(left_out ? variable.substr(1) : variable);
  if (left_out) return any ? "" : kReliable;
  return any ? variable : "";
}

std::string Listed(const std::vector<net::RdmaPort>& ports) {
  std::string text;
  for (const net::RdmaPort& port : ports) text += (text.empty() ? "" : ", ") + port.name + " " + port.state;
  return text.empty() ? "it has no RDMA device" : "it has " + text;
}

std::string WhatIsWrongWith(const net::RdmaPort& port, bool stays_here) {
  if (!port.active()) return port.name + " is " + port.state;
  if (port.loopback() && !stays_here) return port.name + " is on the loopback interface";
  return "";
}

// Lists that are patterns are UCX's to read.
bool IsPattern(const std::string& list) { return list == "all" || list.find_first_of("^*?[") != std::string::npos; }

VerbsOffer OfNamed(const std::string& list, const VerbsWish& wish, const std::vector<net::RdmaPort>& ports) {
  VerbsOffer offer;
  for (const std::string& name : Names(list)) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const auto& p) { return p.name == name; });
    const std::string wrong = port == ports.end() ? "it has no RDMA port " + name + " (" + Listed(ports) + ")"
                                                  : WhatIsWrongWith(*port, wish.stays_here);
    if (wrong.empty()) {
      offer.devices += (offer.devices.empty() ? "" : ",") + name;
    } else {
      offer.why_not += (offer.why_not.empty() ? "" : "; ") + wrong;
      offer.named = offer.named || port != ports.end();
    }
  }
  return offer;
}

VerbsOffer OfAll(const VerbsWish& wish, const std::vector<net::RdmaPort>& ports) {
  VerbsOffer offer;
  for (const net::RdmaPort& port : ports) {
    const std::string wrong = WhatIsWrongWith(port, wish.stays_here);
    if (wrong.empty()) {
      offer.devices += (offer.devices.empty() ? "" : ",") + port.name;
    } else {
      offer.why_not += (offer.why_not.empty() ? "" : "; ") + wrong;
    }
  }
  return offer;
}

}  // namespace

VerbsOffer OfferVerbs(const VerbsWish& wish, const std::vector<net::RdmaPort>& ports) {
  if (ports.empty() && wish.devices.empty()) return {"", "", Listed(ports), false};
  if (!wish.built) return {"", "", "this build of hfreduce is without UCX", false};
  const std::string tls = VerbsAmong(wish.variables.tls);
  if (tls.empty()) return {"", "", "UCX_TLS=" + wish.variables.tls + " in its environment leaves verbs out", false};
  const std::string& named = wish.devices.empty() ? wish.variables.net_devices : wish.devices;
  const bool pattern = IsPattern(named);
  VerbsOffer offer = named.empty() || pattern ? OfAll(wish, ports) : OfNamed(named, wish, ports);
  if (offer.devices.empty()) return offer;
  if (pattern) offer.devices = named;
  return {tls, offer.devices, "", false};
}

std::string InterfacesAmong(const VerbsWish& wish, const std::vector<net::RdmaPort>& ports) {
  const std::string& named = wish.devices.empty() ? wish.variables.net_devices : wish.devices;
  if (IsPattern(named)) return named;
  std::string interfaces;
  for (const std::string& name : Names(named)) {
    if (std::any_of(ports.begin(), ports.end(), [&](const auto& port) { return port.name == name; })) continue;
    interfaces += (interfaces.empty() ? "" : ",") + name;
  }
  return interfaces.empty() ? "all" : interfaces;
}

}  // namespace glim::hfreduce
