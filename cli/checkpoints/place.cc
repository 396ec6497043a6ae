#include "cli/checkpoints/place.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "sdk/checkpoint/directory/names.h"
#include "sdk/io/io_error.h"

namespace glim::cli {

namespace fs = std::filesystem;

std::string CheckpointPlace::PathOf(checkpoint::CheckpointId checkpoint) const {
  return root + "/" + checkpoint::PathOf(checkpoint);
}

Result<CheckpointPlace> FindPlace(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  if (error) return IoError(error.value(), "open " + path);
  const auto step = checkpoint::StepNamed(found.filename().native());
  const auto attempt = checkpoint::AttemptNamed(found.parent_path().filename().native());
  CheckpointPlace place;
  const bool is_checkpoint = step && attempt;
  if (is_checkpoint) place.id = checkpoint::CheckpointId{*attempt, *step};
  place.root = is_checkpoint ? found.parent_path().parent_path() : found;
  auto directory = checkpoint::Directory::Open(place.root, "");
  if (!directory.ok()) return directory.status();
  place.directory = std::move(directory).value();
  return place;
}

Result<checkpoint::CheckpointId> OneOf(const CheckpointPlace& place) {
  if (place.id) return *place.id;
  const auto visible = place.directory->Visible();
  if (!visible.ok()) return visible.status();
  if (!visible->empty()) return visible->back();
  return Status(StatusCode::kNotFound, "no checkpoint counts in " + place.root)
      .WithFix("'glim ckpt ls " + place.root + "' lists what there is");
}

Result<std::unique_ptr<checkpoint::Checkpoint>> OpenOne(const CheckpointPlace& place) {
  const auto id = OneOf(place);
  if (!id.ok()) return id.status();
  return checkpoint::OpenCheckpoint(*place.directory, *id, {});
}

}  // namespace glim::cli
