// Anything that has a list of its fields (row_fields.h) as JSON text, and back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "scheduler/store/codec/field_reader.h"
#include "scheduler/store/codec/field_writer.h"
#include "sdk/base/result.h"

namespace glim::store {

template <typename Row>
std::string EncodeBody(const Row& row, std::size_t bytes_about) {
  std::string out;
  out.reserve(bytes_about);
  FieldWriter writer(out);
  Fields(writer, row);
  writer.Close();
  return out;
}

// `name`: the row's in messages, "job 42".
Status BrokenRow(std::string_view name, std::string_view what);

template <typename Row>
Result<Row> DecodeBody(Row row, std::string_view body, std::string_view name) {
  try {
    const auto json = nlohmann::json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return BrokenRow(name, "the body is not JSON");
    if (!json.is_object()) return BrokenRow(name, "the body is not a JSON object");
    std::string error;
    FieldReader reader(json, error);
    Fields(reader, row);
    if (!error.empty()) return BrokenRow(name, error);
    return row;
  } catch (const nlohmann::json::exception& e) {  // nothing above should throw; a library's edge all the same
    return BrokenRow(name, e.what());
  }
}

}  // namespace glim::store
