// A row of any kind as the store's table has it: kind, key, and body as JSON; and back. A key that stands in the table
// is not in the body, but for accounts and identities.
//
// Encoding never fails: text that is not UTF-8 is repaired with U+FFFD, for one odd byte in a message must not stop the
// scheduler. Decoding fails with kDataLoss, naming kind, key and field. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "scheduler/store/codec/account_fields.h"
#include "scheduler/store/codec/body.h"
#include "scheduler/store/codec/identity_fields.h"
#include "scheduler/store/codec/row_fields.h"
#include "scheduler/store/codec/row_kinds.h"
#include "sdk/base/result.h"

namespace glim::store {

template <typename Row>
std::string EncodeRow(const Row& row) {
  return EncodeBody(row, RowKind<Row>::BytesAbout(row));
}

template <typename Row>
Result<Row> DecodeRow(std::string_view key, std::string_view body) {
  const std::string name = fmt::format("{} {}", RowKind<Row>::kName, key);
  Row row;
  if constexpr (!HasKeyInBody<Row>) {
    if (!ReadKey(key, core::IdOf(row))) return BrokenRow(name, "this is no key of such a row");
  }
  auto decoded = DecodeBody(std::move(row), body, name);
  if constexpr (HasKeyInBody<Row>) {
    if (decoded.ok() && KeyTextOf(*decoded) != key) return BrokenRow(name, "the body is another row's");
  }
  return decoded;
}

}  // namespace glim::store
