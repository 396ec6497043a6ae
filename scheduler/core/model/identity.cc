#include "scheduler/core/model/identity.h"

#include <algorithm>
#include <memory>

namespace glim::core {
namespace {

struct RowsKey {
  RowKey operator()(const TokenRow& row) const { return {"token", row.id}; }
  RowKey operator()(const NodeIdentity& row) const { return {"node", row.name}; }
  RowKey operator()(const SealedRow& row) const { return {"sealed", row.name}; }
  RowKey operator()(const SecretRow& row) const { return {"secret", row.user + "/" + row.name}; }
};

template <typename Table, typename TableKey, typename Row>
void PutOrErase(Table& table, const TableKey& key, const Row& row, bool removed) {
  if (removed) {
    table.Erase(key);
  } else {
    table.Put(key, std::make_shared<const Row>(row));
  }
}

struct RowChanger {
  Identity& identity;
  bool removed;
  void operator()(const TokenRow& row) const { PutOrErase(identity.tokens, row.id, row, removed); }
  void operator()(const NodeIdentity& row) const { PutOrErase(identity.nodes, row.name, row, removed); }
  void operator()(const SealedRow& row) const { PutOrErase(identity.sealed, row.name, row, removed); }
  void operator()(const SecretRow& row) const {
    PutOrErase(identity.secrets, SecretKey(row.user, row.name), row, removed);
  }
};

template <typename Row>
std::optional<IdentityRow> Copy(const Row* row) {
  return row ? std::optional<IdentityRow>(*row) : std::nullopt;
}

}  // namespace

RowKey KeyOf(const IdentityRow& row) { return std::visit(RowsKey{}, row); }

void Identity::Change(const IdentityChange& change) { std::visit(RowChanger{*this, change.removed}, change.row); }

std::optional<IdentityRow> Identity::Find(const RowKey& key) const {
  if (key.kind == "token") return Copy(tokens.Find(key.name));
  if (key.kind == "node") return Copy(nodes.Find(key.name));
  if (key.kind == "sealed") return Copy(sealed.Find(key.name));
  const std::size_t slash = key.name.find('/');  // no user has one in the name
  if (key.kind != "secret" || slash == std::string::npos) return std::nullopt;
  return Copy(secrets.Find({key.name.substr(0, slash), key.name.substr(slash + 1)}));
}

std::vector<IdentityRow> Identity::Rows() const {
  std::vector<IdentityRow> rows;
  tokens.ForEach([&](const std::string&, const TokenRow& row) { rows.emplace_back(row); });
  nodes.ForEach([&](const std::string&, const NodeIdentity& row) { rows.emplace_back(row); });
  sealed.ForEach([&](const std::string&, const SealedRow& row) { rows.emplace_back(row); });
  secrets.ForEach([&](const SecretKey&, const SecretRow& row) { rows.emplace_back(row); });
  return rows;
}

void TakeLabels(const std::vector<std::string>& fields, const NodeLabels& given, const std::string& address,
                NodeLabels& labels, std::string& of_address) {
  const auto named = [&](const char* field) { return std::find(fields.begin(), fields.end(), field) != fields.end(); };
  if (named("pool")) labels.pool = given.pool;
  if (named("zone")) labels.zone = given.zone;
  if (named("leaf")) labels.leaf = given.leaf;
  if (named("gpu_type")) labels.gpu_type = given.gpu_type;
  if (named("gpus")) labels.gpu_count = given.gpu_count;
  if (named("nvlink")) labels.nvlink = given.nvlink;
  if (named("nic")) labels.nic = given.nic;
  if (named("address")) of_address = address;
}

}  // namespace glim::core
