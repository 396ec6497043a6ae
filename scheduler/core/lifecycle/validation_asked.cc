#include "scheduler/core/lifecycle/validation_asked.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/node_remove.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/model/spec_limits.h"

namespace glim::core {
namespace {

constexpr std::size_t kFoldersMax = 16;

// They stand in a command, as they are.
bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-+@=:%").find(c) != std::string::npos;
}

Status CheckFolders(const std::vector<std::string>& folders) {
  if (folders.size() > kFoldersMax) {
    return InvalidArgument("folders", std::to_string(folders.size()) + " are too many",
                           "name at most " + std::to_string(kFoldersMax));
  }
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string& folder = folders[i];
    const bool plain = folder.size() <= kSpecPathBytesMax && std::all_of(folder.begin(), folder.end(), IsPlain);
    const bool twice = std::find(folders.begin(), folders.begin() + static_cast<std::ptrdiff_t>(i), folder) !=
                       folders.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string field = "folders[" + std::to_string(i) + "]";
    if (!plain || !IsPlainAbsolutePath(folder)) {
      return InvalidArgument(field, "is not a plain absolute path",
                             "write it like /ckpt/validate, of letters, digits and . _ - + @ = : %");
    }
    if (twice) return InvalidArgument(field, folder + " is named twice", "name it once");
  }
  return Status::Ok();
}

Status CheckUnreserved(const Changes& changes, const Node& node) {
  if (!IsKeptFrom(changes.state(), node.id, "")) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "node " + node.name + " is reserved")
      .WithReason("NODE_RESERVED")
      .WithField("node")
      .WithFix("ask again when the reservation is over: 'glim admin reserve ls' says when");
}

}  // namespace

void ApplyValidate(Changes& changes, const ValidateNode& event) {
  Status& status = changes.reply().status;
  const auto known = changes.state().index().node_by_name.find(event.name);
  status = known == changes.state().index().node_by_name.end() ? NoSuchNode(event.name) : CheckFolders(event.folders);
  if (status.ok()) status = CheckUnreserved(changes, changes.node(known->second));
  if (!status.ok()) return;
  const NodeId id = known->second;
  changes.reply().node = id;
  if (event.dry_run) return;
  changes.EditNode(id, [&](Node& node) {
    node.validation.need = std::max(node.validation.need, ValidationNeed::kAsked);
    node.validation.since = changes.now();
    node.validation.again_at = {};
    node.validation.full = event.full;
    node.validation.folders = event.folders;
  });
  const std::string who = event.by.empty() ? "an operator" : event.by;
  const std::string why = who + " asked for it: it takes no other job before it was found good";
  changes.Note(HistoryKind::kNodeToValidate, {}, id, why);
  GiveUpClaims(changes, id, "node " + event.name + " is to be measured: " + who + " asked for it");
  changes.MarkDirty();
}

}  // namespace glim::core
