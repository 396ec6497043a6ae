// Memory and SQLite take the contract suite.
#include "scheduler/store/memory/memory_store.h"
#include "scheduler/store/sqlite/sqlite_store.h"
#include "scheduler/store/testing/store_contract.h"
#include "scheduler/store/testing/temp_dir.h"

namespace glim::store {
namespace {

class MemoryPlace final : public StorePlace {
 public:
  Result<std::unique_ptr<Store>> Open() override {
    return std::unique_ptr<Store>(std::make_unique<MemoryStore>(data_));
  }

 private:
  std::shared_ptr<MemoryData> data_ = std::make_shared<MemoryData>();
};

class SqlitePlace final : public StorePlace {
 public:
  Result<std::unique_ptr<Store>> Open() override {
    auto opened = SqliteStore::Open(dir_.File("deep/er/state.db"));
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<Store>(std::move(opened).value());
  }

 private:
  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Local, StoreContract,
                         testing::Values(StoreKind{"memory", [] { return std::make_unique<MemoryPlace>(); }},
                                         StoreKind{"sqlite", [] { return std::make_unique<SqlitePlace>(); }}),
                         KindName);

}  // namespace
}  // namespace glim::store
