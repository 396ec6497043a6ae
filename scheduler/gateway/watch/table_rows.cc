#include "scheduler/gateway/watch/table_rows.h"

#include <array>
#include <set>
#include <string>
#include <utility>

#include "glim/v1/node.pb.h"
#include "proto/json/message_json.h"
#include "scheduler/core/model/job_place.h"
#include "scheduler/gateway/watch/frames.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/door/private_parts.h"
#include "sdk/base/rfc3339.h"

namespace glim::gateway {
namespace {

using proto::Json;

constexpr std::size_t kPartBytes = std::size_t{512} << 10;  // of a state

// The texts of a document's rows: parts of about kPartBytes.
class Parts {
 public:
  explicit Parts(const char* name) : name_(name) { Begin(true); }
  void Add(const std::string& row) {
    if (text_.size() > kPartBytes) {
      End();
      Begin(false);
    }
    if (text_.back() != '[') text_ += ',';
    text_ += row;
  }
  std::vector<std::string> Take() {
    End();
    return std::move(parts_);
  }

 private:
  void Begin(bool first) {
    text_ =
        "{\"version\":" + std::to_string(proto::kJsonVersion) + (first ? ",\"reset\":true,\"" : ",\"") + name_ + "\":[";
  }
  void End() { parts_.push_back(std::move(text_) + "]}"); }

  const char* const name_;
  std::string text_;
  std::vector<std::string> parts_;
};

// The document of a change, from the texts of its rows.
class Change {
 public:
  void Removed(const std::string& key) { Append(&removed_, key); }
  void Row(const std::string& row) { Append(&rows_, row); }
  std::string Text(const char* name) const {
    if (removed_.empty() && rows_.empty()) return {};
    return "{\"version\":" + std::to_string(proto::kJsonVersion) + ",\"removed\":[" + removed_ + "],\"" + name +
           "\":[" + rows_ + "]}";
  }

 private:
  static void Append(std::string* list, const std::string& text) {
    if (!list->empty()) *list += ',';
    *list += text;
  }
  std::string removed_;
  std::string rows_;
};

// One job as a row, written field by field: the queue may be long, and a tree of JSON for each would cost ten times as
// much. The names are EndedJob's, which is a job as a row, too.
class JobRow {
 public:
  // With `before` the fields alone that are not as in that.
  static std::string Text(const core::Job& job, const core::Job* before) {
    JobRow row;
    row.text_ = "{\"id\":" + std::to_string(job.id.value);
    const auto put = [&](const char* name, const auto& get) {
      auto value = get(job);
      if (!before || value != get(*before)) row.Put(name, value);
    };
    put("name", [](const core::Job& j) { return j.spec->name; });
    put("user", [](const core::Job& j) { return j.user; });
    put("team", [](const core::Job& j) { return j.team; });
    put("pool", [](const core::Job& j) { return j.spec->pool; });
    put("priority", [](const core::Job& j) { return std::string(core::ToString(j.priority)); });
    put("state", [](const core::Job& j) { return std::string(core::ToString(j.state)); });
    put("nodes", [](const core::Job& j) { return std::int64_t{j.spec->nodes}; });
    put("gpus_per_node", [](const core::Job& j) { return std::int64_t{j.spec->gpus_per_node}; });
    put("submitted_at", [](const core::Job& j) { return j.submitted_at; });
    put("attempts", [](const core::Job& j) { return std::int64_t{j.attempts}; });
    put("interrupts", [](const core::Job& j) { return std::int64_t{j.interrupts}; });
    put("restarts", [](const core::Job& j) { return std::int64_t{j.restarts}; });
    put("steps_lost", [](const core::Job& j) { return j.steps_lost; });
    put("durable_step", [](const core::Job& j) { return j.durable.step; });
    put("place", [](const core::Job& j) { return core::PlaceOf(j); });
    // Nothing that the row shows has changed.
    if (before && !row.any_) return {};
    return std::move(row.text_) + "}";
  }

 private:
  void Name(const char* name) {
    any_ = true;
    text_.append(",\"").append(name).append("\":");
  }
  void Put(const char* name, const std::string& value) {
    Name(name);
    text_ += JsonString(value);
  }
  void Put(const char* name, std::int64_t value) {
    Name(name);
    text_ += std::to_string(value);
  }
  void Put(const char* name, TimePoint value) {
    Name((std::string(name) + "_ms").c_str());
    text_ += std::to_string(value.ms);
    Name(name);
    text_ += value ? "\"" + FormatRfc3339(value) + "\"" : "null";
  }
  void Put(const char* name, const core::JobPlace& place) {
    Name(name);
    text_ += "[" + std::to_string(place.group) + "," + std::to_string(place.less_urgent) + "," +
             std::to_string(place.not_swap_aborted) + "," + std::to_string(place.time) + "," +
             std::to_string(place.id) + "]";
  }

  std::string text_;
  bool any_ = false;
};

Json NodeRow(const server::Snapshot& snapshot, const core::Node& node, bool whole) {
  v1::Node message;
  server::NodeToProto(snapshot, node, server::NodeShown::kRow, &message);
  message.clear_last_heard_ms();
  if (!whole) server::RemovePrivateParts(&message);
  Json row = proto::MessageJson(message);
  row.erase("last_heard_ms");
  row.erase("last_heard");
  return row;
}

}  // namespace

std::vector<std::string> QueueState(const server::Snapshot& snapshot) {
  Parts parts("jobs");
  snapshot.tables.listed.VisitFrom(core::JobPlace{-1}, [&](const core::JobPlace& place, const core::Job& job) {
    if (place.group == core::kEndedGroup) return false;
    parts.Add(JobRow::Text(job, nullptr));
    return true;
  });
  return parts.Take();
}

std::string QueueChanges(const server::Snapshot& before, const server::Snapshot& after) {
  Change change;
  const auto shown = [](const core::Job* job) { return job && !core::IsTerminal(job->state) ? job : nullptr; };
  core::CowTable<core::JobId, core::Job>::ForEachChange(
      before.tables.jobs, after.tables.jobs, [&](core::JobId id, const core::Job* old_row, const core::Job* new_row) {
        const core::Job* const was = shown(old_row);
        const core::Job* const is = shown(new_row);
        if (!is && was) change.Removed(std::to_string(id.value));
        if (!is) return;
        const std::string row = JobRow::Text(*is, was);
        if (!row.empty()) change.Row(row);
      });
  return change.Text("jobs");
}

std::vector<std::string> NodesState(const server::Snapshot& snapshot, bool whole) {
  Parts parts("nodes");
  snapshot.tables.nodes.ForEach(
      [&](core::NodeId, const core::Node& node) { parts.Add(OneLine(NodeRow(snapshot, node, whole))); });
  return parts.Take();
}

std::string NodesChanges(const server::Snapshot& before, const server::Snapshot& after, bool whole) {
  Change change;
  std::set<core::NodeId> told;
  const auto visit = [&](core::NodeId id, const core::Node* old_row, const core::Node* new_row) {
    if (!told.insert(id).second) return;
    if (old_row && (!new_row || new_row->name != old_row->name)) change.Removed(JsonString(old_row->name));
    if (!new_row) return;
    Json row = NodeRow(after, *new_row, whole);
    if (old_row && old_row->name == new_row->name) {
      const Json was = NodeRow(before, *old_row, whole);
      Json changed;
      changed["name"] = row["name"];
      for (const auto& [name, value] : row.items()) {
        if (was[name] != value) changed[name] = value;
      }
      if (changed.size() == 1) return;
      row = std::move(changed);
    }
    change.Row(OneLine(row));
  };
  core::CowTable<core::NodeId, core::Node>::ForEachChange(before.tables.nodes, after.tables.nodes, visit);
  // A node says by whom it is reserved, which is not in its row.
  const auto reserved = [&](const std::string&, const core::Reservation* old_row, const core::Reservation* new_row) {
    for (const core::Reservation* const row : {old_row, new_row}) {
      if (row == nullptr) continue;
      for (const core::ReservedNode& node : row->nodes) {
        visit(node.id, before.tables.nodes.Find(node.id), after.tables.nodes.Find(node.id));
      }
    }
  };
  core::CowTable<std::string, core::Reservation>::ForEachChange(before.tables.reservations, after.tables.reservations,
                                                                reserved);
  return change.Text("nodes");
}

}  // namespace glim::gateway
