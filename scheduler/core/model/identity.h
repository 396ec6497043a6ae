// Who may speak to the scheduler, as rows: users' and jobs' tokens, nodes' identities, what is kept sealed (keys of the
// cluster, users' secrets).
//
// Values: no row has a secret in the clear. Rows are changed by the event ChangeIdentity (all changes or none), by
// TokensUsed (when a token was last used), by LabelNode, and by the core itself: tokens go with their users, at their
// attempts' ends, and a month after they expired; users' secrets go with their users. Snapshots share the tables
// (cow_table.h): Find and ForEach from any thread, on a snapshot that is held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/core/model/cow_table.h"
#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/roles.h"
#include "scheduler/core/model/row_key.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/time.h"

namespace glim::core {

struct TokenRow {
  std::string id;  // 16 hexadecimal digits: what logs and the audit trail name it by
  std::string user;
  Scope scope = Scope::kAll;
  TokenOrigin origin = TokenOrigin::kPersonal;
  std::string hash;  // SHA-256 of the secret, 64 hexadecimal digits
  TimePoint created_at{};
  TimePoint expires_at{};    // 0: never
  TimePoint last_used_at{};  // 0: never
  std::string made_by{};     // a user; of a host for logins LoginHostAsMaker, also of tokens made with its tokens
  std::string note{};
  AttemptId attempt{};       // of kJob: it goes when that ends
  std::string session_of{};  // of a browser's session: the token that it was opened with, with which it goes
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

inline std::string LoginHostAsMaker(const std::string& host) { return "node:" + host; }

// What labels and address are called in LabelNode and in NodeIdentity::labelled_fields.
inline constexpr const char* kLabelFields[] = {"pool", "zone", "leaf", "gpu_type", "gpus", "nvlink", "nic", "address"};

// A machine that was invited to be the node of that name.
struct NodeIdentity {
  std::string name;
  bool login = false;  // a host where users log in: it may ask for their tokens, and runs no jobs
  NodeLabels labels{};
  std::string address{};
  // `labels` and `address` hold of the fields that `labelled_fields` names, given by the invitation or by LabelNode;
  // the node's own word gives the others at its first registration, and then all are named here.
  bool labelled = false;
  std::vector<std::string> labelled_fields{};
  std::string machine_id{};  // empty: not enrolled yet
  TimePoint enrolled_at{};
  std::string invite_hash{};  // SHA-256 of the invitation's secret; empty: none is open
  TimePoint invite_expires_at{};
  std::string invited_by{};
  std::string serial{};           // of the newest certificate, hexadecimal; empty: none
  std::string previous_serial{};  // of the one before, which counts until the newest was used or it expires
  TimePoint certificate_expires_at{};
  bool revoked = false;
  friend bool operator==(const NodeIdentity&, const NodeIdentity&) = default;
};

// A key of the cluster's own, encrypted by the key file (scheduler/identity/seal.h).
struct SealedRow {
  std::string name;   // "ca", "ca.old", "signing"
  std::string bytes;  // any bytes
  friend bool operator==(const SealedRow&, const SealedRow&) = default;
};

// A user's secret, encrypted likewise.
struct SecretRow {
  std::string user;
  std::string name;
  std::string sealed;       // any bytes
  std::uint32_t bytes = 0;  // of what is sealed
  TimePoint changed_at{};
  friend bool operator==(const SecretRow&, const SecretRow&) = default;
};

using IdentityRow = std::variant<TokenRow, NodeIdentity, SealedRow, SecretRow>;

RowKey KeyOf(const IdentityRow& row);

// Puts the row, or takes it away; of a row that goes only the key counts. A row that is to go and is not there is no
// fault: with `expected` it is.
struct IdentityChange {
  IdentityRow row;
  bool removed = false;
  std::optional<IdentityRow> expected{};  // what must be there now, or nothing is changed: that is how once is once
  bool only_new = false;                  // nothing may be there now
  friend bool operator==(const IdentityChange&, const IdentityChange&) = default;
};

using SecretKey = std::pair<std::string, std::string>;  // user, name

// A copy shares the rows.
struct Identity {
  CowTable<std::string, TokenRow> tokens;     // by id
  CowTable<std::string, NodeIdentity> nodes;  // by name
  CowTable<std::string, SealedRow> sealed;    // by name
  CowTable<SecretKey, SecretRow> secrets;

  void Change(const IdentityChange& change);  // the row alone: `expected` and `only_new` are the event's affair
  std::optional<IdentityRow> Find(const RowKey& key) const;
  std::vector<IdentityRow> Rows() const;
};

// The fields that `fields` names, taken from `given`; the others stay.
void TakeLabels(const std::vector<std::string>& fields, const NodeLabels& given, const std::string& address,
                NodeLabels& labels, std::string& of_address);

// An expired token is kept for so long, so that its user is told that it expired.
inline constexpr Duration kExpiredTokenKept = Hours(24 * 30);

}  // namespace glim::core
