// Reads JSON of which the reader knows beforehand what it must look like. nlohmann::json parses it once, into a flat
// tape of what it met (at most five times as long as the text); the reader walks the tape. No tree is built, so 100,000
// tensors are cheap. It takes less than JSON allows: whole non-negative numbers of 64 bits only, no unknown or repeated
// members, no byte order mark, at most 16 levels, and no large text of mostly tabs and line ends.
//
// The first fault ends the reading: it is kept with the field where it was found, and every later call does nothing.
// Text that is no JSON is a fault where the reader comes to it: what is wrong before that is found first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/status.h"

namespace glim::checkpoint {

class JsonReader {
 public:
  // Parses all of `text`, which is not needed afterwards. `reason`: of the Status, "BAD_MANIFEST"; it must outlive the
  // reader.
  JsonReader(std::string_view text, std::string_view reason);

  bool ok() const { return fault_.ok(); }
  const Status& fault() const { return fault_; }  // DATA_LOSS

  std::uint64_t Number(std::uint64_t max);
  std::string String();
  bool Bool();

  // element(i) reads the i-th value.
  template <typename F>
  void Array(F element) {
    if (!Expect('[', "an array")) return;
    for (std::size_t i = 0; !Take(']'); ++i) {
      path_.push_back({{}, i});
      element(i);
      if (!ok()) return;
      path_.pop_back();
    }
  }

  // An object with members of any name: member(key) reads the value. Repeated names are the caller's to refuse.
  template <typename F>
  void Members(F member) {
    if (!Expect('{', "an object")) return;
    while (!Take('}')) {
      const std::string key = String();
      if (!ok()) return;
      path_.push_back({key, 0});
      member(key);
      if (!ok()) return;
      path_.pop_back();
    }
  }

  // An object with these members (at most 32) and no others, in any order: field(i) reads the value of names[i]. Only
  // the first `required` must be there.
  template <typename F>
  void Fields(std::span<const std::string_view> names, std::size_t required, F field) {
    std::uint32_t seen = 0;
    if (!Expect('{', "an object")) return;
    while (!Take('}')) {
      const std::size_t i = FieldIndex(names, seen);
      if (!ok()) return;
      path_.push_back({names[i], 0});
      field(i);
      if (!ok()) return;
      path_.pop_back();
    }
    CheckAllSeen(names.first(required), seen);
  }

  // Nothing but white space may follow.
  void End();
  void Fail(const std::string& message);

 private:
  struct Step {
    std::string_view key;  // empty: an index
    std::size_t index;
  };

  bool Take(char token);
  bool Expect(char token, std::string_view name);
  std::uint64_t TakeWord();
  std::string_view StringOnTape();
  void FailUnexpected(std::string_view expected);
  std::size_t FieldIndex(std::span<const std::string_view> names, std::uint32_t& seen);
  void CheckAllSeen(std::span<const std::string_view> names, std::uint32_t seen);
  std::string PathText() const;

  std::string_view reason_;
  std::string tape_;
  std::string stop_;      // what is there where the tape ends before the text does; empty: it does not
  std::size_t next_ = 0;  // on the tape
  std::vector<Step> path_;
  Status fault_;
};

}  // namespace glim::checkpoint
