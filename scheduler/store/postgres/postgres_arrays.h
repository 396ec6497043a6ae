// A batch of rows as PostgreSQL array literals, one a column: a whole table's changes go as one statement over
// unnest(). Built once; a commit that is tried again sends the same text.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace glim::store {

// One prepared statement and its parameters.
struct PostgresWrite {
  const char* statement = "";
  std::vector<std::string> params;
};

class PostgresArrays {
 public:
  // Adds writes of `statement` to `out`, each of at most about `bytes_max`: nothing on the way has to hold a gigabyte.
  PostgresArrays(const char* statement, std::vector<PostgresWrite>& out, std::size_t bytes_max = 8 << 20)
      : statement_(statement), out_(out), bytes_max_(bytes_max) {}
  PostgresArrays(const PostgresArrays&) = delete;
  PostgresArrays& operator=(const PostgresArrays&) = delete;
  ~PostgresArrays() { Flush(); }

  // One value a column: integers, or text without NUL.
  template <typename... Values>
  void Row(const Values&... values) {
    if (columns_.empty()) columns_.assign(sizeof...(values), "{");
    std::size_t column = 0;
    (Append(columns_[column++], values), ...);
    if (bytes_ >= bytes_max_) Flush();
  }

 private:
  template <typename T>
  void Append(std::string& array, const T& value) {
    const std::size_t before = array.size();
    if (before > 1) array += ',';
    if constexpr (std::is_integral_v<T>) {
      char digits[24];
      array.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    } else {
      array += '"';
      for (const char c : std::string_view(value)) {
        if (c == '"' || c == '\\') array += '\\';
        array += c;
      }
      array += '"';
    }
    bytes_ += array.size() - before;
  }

  void Flush() {
    if (columns_.empty()) return;
    for (std::string& column : columns_) column += '}';
    out_.push_back({statement_, std::move(columns_)});
    columns_.clear();
    bytes_ = 0;
  }

  const char* statement_;
  std::vector<PostgresWrite>& out_;
  const std::size_t bytes_max_;
  std::vector<std::string> columns_;
  std::size_t bytes_ = 0;
};

}  // namespace glim::store
