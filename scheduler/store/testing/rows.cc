#include "scheduler/store/testing/rows.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/identity_fields.h"
#include "scheduler/store/codec/row_fields.h"

namespace glim::store {

namespace {

// Goes by the lists of fields that the codec goes by; row_codec_test.cc holds these against the structs.
class Filler {
 public:
  static constexpr bool kWrites = false;

  explicit Filler(Rng& rng) : rng_(rng) {}

  template <typename T>
  void Field(const char*, T& value) {
    Fill(value);
  }
  template <typename T>
  void Required(const char*, T& value) {
    Fill(value);
  }
  template <typename T>
  void Sparse(const char*, T& value, const T& = T{}) {
    Fill(value);
  }
  void Hex(const char*, std::string& bytes) {
    bytes.clear();
    for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i < 256 ? i : rng_.Between(0, 255));
  }

 private:
  template <typename... Values>
  void All(Values&... values) {
    (Fill(values), ...);
  }
  void Fill(bool& value) { value = rng_.OneIn(2); }

  void Fill(std::string& value) {
    static const std::string kPieces[] = {"a",
                                          "Z",
                                          "0",
                                          " ",
                                          "/data/run-17",
                                          "\"",
                                          "\\",
                                          "\\\"",
                                          "\n",
                                          "\t",
                                          "\x01",
                                          "\x1f",
                                          "\x7f",
                                          std::string(1, '\0'),
                                          "{",
                                          "}",
                                          ",",
                                          "'",
                                          "NULL",
                                          "\xC3\xA9",
                                          "\xE6\xBC\xA2",
                                          "\xF0\x9F\x98\x80",
                                          "\xE2\x80\xA8",
                                          "\\u0000",
                                          "</script>"};
    value.clear();
    for (auto n = rng_.Between(0, 6); n > 0; --n) {
      value += kPieces[static_cast<std::size_t>(rng_.Between(0, std::size(kPieces) - 1))];
    }
  }

  // What a clock can say: the state that is loaded adds them up.
  void Fill(TimePoint& value) { FillTime(value.ms); }
  void Fill(Duration& value) { FillTime(value.ms); }
  void FillTime(std::int64_t& ms) {
    constexpr std::int64_t kEndOfYear9999 = 253'402'300'799'999;
    switch (rng_.Between(0, 3)) {
      case 0: ms = 0; break;
      case 1: ms = kEndOfYear9999; break;
      default: ms = rng_.Between(0, kEndOfYear9999); break;
    }
  }
  template <typename Tag, typename Rep>
  void Fill(StrongId<Tag, Rep>& value) {
    Fill(value.value);
  }
  void Fill(core::AttemptId& value) { All(value.job, value.number); }
  void Fill(core::TaskId& value) { All(value.attempt, value.index); }
  void Fill(std::pair<std::string, std::string>& value) { All(value.first, value.second); }
  void Fill(core::UseTotals& value) {
    for (auto& total : value) Fill(total);
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    value.reset();
    if (rng_.OneIn(2)) Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(static_cast<std::size_t>(rng_.Between(0, 3)));
    for (T& value : values) Fill(value);
  }
  void Fill(std::shared_ptr<const core::JobSpec>& value) {
    auto spec = std::make_shared<core::JobSpec>();
    Fill(*spec);
    value = std::move(spec);
  }

  template <typename T>
  requires std::is_enum_v<T>
  void Fill(T& value) {
    constexpr auto kLast = static_cast<std::int64_t>(core::kEnumWords<T>.size()) - 1;
    value = core::kEnumWords<T>[static_cast<std::size_t>(rng_.Between(0, kLast))].value;
  }
  template <typename T>
  requires std::is_integral_v<T>
  void Fill(T& value) {
    switch (rng_.Between(0, 4)) {
      case 0: value = std::numeric_limits<T>::min(); break;
      case 1: value = std::numeric_limits<T>::max(); break;
      case 2: value = static_cast<T>(rng_.Between(0, 100)); break;
      default: value = static_cast<T>(rng_.Next()); break;
    }
  }

  template <typename T>
  requires std::is_class_v<T>
  void Fill(T& row) { Fields(*this, row); }

  Rng& rng_;
};

std::string WithoutNul(std::string text) {
  std::erase(text, '\0');
  return text;
}

template <typename Row>
Row Random(Rng& rng) {
  Row row;
  Filler filler(rng);
  Fields(filler, row);
  return row;
}

template <typename Row, typename Id>
Row RandomOf(Rng& rng, Id id) {
  Row row = Random<Row>(rng);
  row.id = id;
  return row;
}

}  // namespace

core::Job RandomJob(Rng& rng, core::JobId id) { return RandomOf<core::Job>(rng, id); }

core::Attempt RandomAttempt(Rng& rng, core::AttemptId id) { return RandomOf<core::Attempt>(rng, id); }

core::Task RandomTask(Rng& rng, core::TaskId id) { return RandomOf<core::Task>(rng, id); }

core::Node RandomNode(Rng& rng, core::NodeId id) {
  core::Node row = RandomOf<core::Node>(rng, id);
  row.name += "#" + std::to_string(id.value);
  return row;
}

core::Reservation RandomReservation(Rng& rng, const std::string& name) {
  core::Reservation row = Random<core::Reservation>(rng);
  row.name = name;
  row.nodes.clear();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    row.nodes.push_back({core::NodeId(id), TimePoint{rng.Between(1, 1'000'000)}});
  }
  return row;
}

core::Budget RandomBudget(Rng& rng, const core::BudgetId& id) { return RandomOf<core::Budget>(rng, id); }

core::AccountChange RandomAccountChange(Rng& rng) {
  const std::string name = "n" + std::to_string(rng.Between(1, 4));
  core::AccountChange change;
  change.removed = rng.OneIn(3);
  switch (rng.Between(0, 7)) {
    case 0: change.row = core::User{name, {"vision", "b" + name}}; break;
    case 1: change.row = core::Team{name, static_cast<std::uint32_t>(rng.Between(1, 1000))}; break;
    case 2: change.row = core::QuotaImport{"quotas:\n  users: {\"" + name + "\": {high: 1}}\n"}; break;
    case 3: change.row = core::PoolRow{name, rng.OneIn(2) ? "the new rack" : ""}; break;
    case 4: change.row = core::ZoneRow{name, rng.OneIn(2) ? "\xC3\xBC" : ""}; break;
    case 5:
      change.row = core::ZoneLink{name, "n0", static_cast<std::uint32_t>(rng.Between(0, 9)),
                                  static_cast<std::uint32_t>(rng.Between(0, 9))};
      break;
    case 6: change.row = core::LayoutImport{"pools: [" + name + "]\n"}; break;
    default:
      change.row = core::QuotaRow{{static_cast<core::QuotaOf>(rng.Between(0, 4)), name, rng.OneIn(2) ? "*" : "a100"},
                                  rng.OneIn(2) ? core::PriorityClass::kHigh : core::PriorityClass::kLow,
                                  static_cast<std::uint32_t>(rng.Between(0, 9))};
  }
  return change;
}

std::vector<core::IdentityRow> RandomIdentity(Rng& rng, const std::string& name) {
  auto token = RandomOf<core::TokenRow>(rng, name);
  auto node = Random<core::NodeIdentity>(rng);
  auto sealed = Random<core::SealedRow>(rng);
  auto secret = Random<core::SecretRow>(rng);
  node.name = sealed.name = secret.name = name;
  secret.user = "user of " + name;
  return {token, node, sealed, secret};
}

core::HistoryEntry RandomHistory(Rng& rng, core::JobId job) {
  auto row = Random<core::HistoryEntry>(rng);
  row.job = job;
  row.text = WithoutNul(row.text);
  // Of a reader's own: store.h.
  if (row.kind == core::HistoryKind::kStatesChanged) row.kind = core::HistoryKind::kSchedulerStarted;
  return row;
}

bool SameJob(const core::Job& a, const core::Job& b) {
  if (*a.spec != *b.spec) return false;
  core::Job shared = a;
  shared.spec = b.spec;
  return shared == b;
}

}  // namespace glim::store
