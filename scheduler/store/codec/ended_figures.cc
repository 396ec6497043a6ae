#include "scheduler/store/codec/ended_figures.h"

#include <charconv>
#include <string>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/row_codec.h"

namespace glim::store {
namespace {

constexpr char kSeparator = '\x1f';

// Takes one part off after another.
class Parts {
 public:
  explicit Parts(std::string_view text) : left_(text) {}

  template <typename Number>
  void Take(Number* out) {
    const std::string_view part = Next();
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *out);
    good_ = good_ && error == std::errc() && end == part.data() + part.size();
  }
  void Take(std::string_view* out) { *out = Next(); }
  // The last one may hold anything.
  void TakeRest(std::string_view* out) { *out = left_; }
  bool good() const { return good_; }

 private:
  std::string_view Next() {
    const std::size_t end = left_.find(kSeparator);
    if (end == std::string_view::npos) {
      good_ = false;
      return {};
    }
    const std::string_view part = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return part;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace

Status ReadFigures(core::JobId id, TimePoint ended_at, std::string_view text, EndedFigures* out) {
  Parts parts(text);
  out->id = id;
  out->ended_at = ended_at;
  int simulated = 0;
  parts.Take(&out->submitted_at.ms);
  parts.Take(&out->started_at.ms);
  parts.Take(&out->interrupts);
  parts.Take(&out->restarts);
  parts.Take(&out->steps_lost);
  parts.Take(&simulated);
  parts.Take(&out->exit_code);
  for (std::int64_t& gpu_ms : out->ledger) parts.Take(&gpu_ms);
  for (std::string_view* word : {&out->team, &out->pool, &out->priority, &out->state, &out->outcome, &out->user}) {
    parts.Take(word);
  }
  parts.TakeRest(&out->name);
  out->simulated_gpus = simulated != 0;
  if (parts.good()) return Status::Ok();
  return Status(StatusCode::kDataLoss,
                "table ended_jobs, row " + std::to_string(id.value) + ": figures: not as written")
      .WithReason("STORE_CORRUPT")
      .WithFix("restore the database from a backup, or run the binary that wrote it");
}

std::string WriteFigures(const EndedJob& job) {
  std::string text;
  const auto number = [&](std::int64_t value) { text += std::to_string(value) + kSeparator; };
  const auto word = [&](std::string_view value) { (text += value) += kSeparator; };
  for (const TimePoint at : {job.submitted_at, job.started_at}) number(at.ms);
  for (const std::int64_t value : {std::int64_t{job.interrupts}, std::int64_t{job.restarts}, job.steps_lost,
                                   std::int64_t{job.simulated_gpus}, std::int64_t{job.exit_code}}) {
    number(value);
  }
  for (const std::int64_t gpu_ms : job.ledger) number(gpu_ms);
  word(CleanText(job.team));
  word(CleanText(job.pool));
  word(core::WordOf(job.priority));
  word(core::WordOf(job.state));
  word(core::WordOf(job.outcome));
  word(CleanText(job.user));
  return text + CleanText(job.name);
}

EndedFigures FiguresOf(const EndedJob& job) {
  EndedFigures out;
  out.id = job.id;
  out.submitted_at = job.submitted_at;
  out.started_at = job.started_at;
  out.ended_at = job.ended_at;
  out.interrupts = job.interrupts;
  out.restarts = job.restarts;
  out.steps_lost = job.steps_lost;
  out.simulated_gpus = job.simulated_gpus;
  out.exit_code = job.exit_code;
  out.ledger = job.ledger;
  out.team = job.team;
  out.pool = job.pool;
  out.priority = core::WordOf(job.priority);
  out.state = core::WordOf(job.state);
  out.outcome = core::WordOf(job.outcome);
  out.user = job.user;
  out.name = job.name;
  return out;
}

}  // namespace glim::store
