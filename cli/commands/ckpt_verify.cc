// glim ckpt verify: reads checkpoints, every byte, and says whether they are good.
#include <memory>

#include <fmt/format.h>

#include "cli/checkpoints/checkpoint_view.h"
#include "cli/checkpoints/place.h"
#include "cli/commands/ckpt.h"
#include "cli/text/render_json.h"
#include "cli/text/style.h"
#include "cli/text/text.h"

namespace glim::cli {
namespace {

struct CkptVerifyOptions {
  std::string path;
  bool all = false;
};

struct Verdict {
  std::string path;
  Status status;
  std::uint64_t bytes = 0;
};

Verdict Verify(const CheckpointPlace& place, checkpoint::CheckpointId id) {
  Verdict verdict{place.PathOf(id), {}, 0};
  const auto opened = checkpoint::OpenCheckpoint(*place.directory, id, {});
  verdict.status = opened.ok() ? (*opened)->Verify() : opened.status();
  if (opened.ok()) verdict.bytes = ShardBytesOf((*opened)->manifest());
  return verdict;
}

Result<std::vector<checkpoint::CheckpointId>> Chosen(const CheckpointPlace& place, bool all) {
  if (all && !place.id) return place.directory->All();
  const auto one = OneOf(place);
  if (!one.ok()) return one.status();
  return std::vector<checkpoint::CheckpointId>{*one};
}

void PrintLine(Output& output, const Verdict& verdict) {
  const bool good = verdict.status.ok();
  const std::string word = Tint(good ? "good" : "bad ", good ? Style::kGood : Style::kBad, output.colour());
  const std::string note = good ? RoundedSizeText(verdict.bytes) : verdict.status.message();
  output.Data(fmt::format("{}  {}  {}\n", word, Escaped(verdict.path), Escaped(note)));
  output.Flush();
}

Json VerdictJson(const Verdict& verdict) {
  Json entry;
  entry["path"] = verdict.path;
  entry["good"] = verdict.status.ok();
  entry["bytes"] = verdict.bytes;
  entry["fault"] = verdict.status.ok() ? Json(nullptr) : Json(verdict.status.message());
  return entry;
}

Status RunCkptVerify(CommandContext& context, const CkptVerifyOptions& options) {
  const auto place = FindPlace(options.path);
  if (!place.ok()) return place.status();
  const auto ids = Chosen(*place, options.all);
  if (!ids.ok()) return ids.status();
  Json document = NewDocument();
  document["checkpoints"] = Json::array();
  std::vector<Verdict> bad;
  for (const checkpoint::CheckpointId id : *ids) {
    if (context.interruption.raised()) return Interruption::Cancelled();
    Verdict verdict = Verify(*place, id);
    if (!context.output.json()) PrintLine(context.output, verdict);
    document["checkpoints"].push_back(VerdictJson(verdict));
    if (!verdict.status.ok()) bad.push_back(std::move(verdict));
  }
  if (context.output.json()) context.output.Data(DumpJson(document));
  if (bad.empty()) return Status::Ok();
  // Of several, the first says what kind of failure it is.
  Status first = bad.front().status;
  if (ids->size() == 1) return first;
  return Status(first.code(), fmt::format("{} of {} checkpoints are bad", bad.size(), ids->size()))
      .WithReason(first.reason());
}

}  // namespace

void AddCkptVerify(Syntax ckpt, Selection* selection) {
  const auto options = std::make_shared<CkptVerifyOptions>();
  Syntax command = ckpt.AddCommand("verify", "Read a checkpoint, every byte: 0 good, 1 bad");
  command.Example("glim ckpt verify /data/ckpt/812 --all");
  command.Option("PATH", &options->path, "DIR/attempt-N/step-S; of a DIR the newest that counts", Presence::kRequired);
  command.Flag("--all", &options->all, "all of a DIR, also those that do not count");
  command.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunCkptVerify(context, *options); }; });
}

}  // namespace glim::cli
