// What a store's test needs to join the contract suite (store_contract_test.cc).
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "scheduler/store/contract/store.h"

namespace glim::store {

// Somewhere to keep data: removed with the object, outlives the stores opened on it.
class StorePlace {
 public:
  virtual ~StorePlace() = default;
  virtual Result<std::unique_ptr<Store>> Open() = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StorePlace>()> make;
};

// GoogleTest would show the bytes, addresses included, in the name of every test.
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

inline core::HistoryEntry Entry(std::uint64_t job, std::int64_t at_ms, const std::string& text) {
  core::HistoryEntry entry;
  entry.at = TimePoint{at_ms};
  entry.kind = core::HistoryKind::kJobSubmitted;
  entry.job = core::JobId(job);
  entry.text = text;
  return entry;
}

class StoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override;

  // Closes the store and opens it again: what a restart sees.
  void Reopen();
  std::unique_ptr<core::ClusterState> Load();
  // Under the newest epoch; must succeed.
  void Commit(const std::vector<core::Mutation>& mutations);

  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
  std::uint64_t epoch_ = 0;
};

inline std::string KindName(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

}  // namespace glim::store
