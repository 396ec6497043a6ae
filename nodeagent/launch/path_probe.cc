#include "nodeagent/launch/path_probe.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

PathOutcome Hung(const PathWish& wish, const std::string& how) {
  PathOutcome outcome;
  outcome.hung_path = wish.path;
  outcome.status =
      Status(StatusCode::kUnavailable, wish.field + " " + wish.path + " does not answer on this node: " + how)
          .WithField(wish.field)
          .WithFix("see whether its file system is mounted and its server is there");
  return outcome;
}

std::string Waited(std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  return std::to_string(seconds) + " s were waited for it";
}

}  // namespace

PathProbe::PathProbe(boost::asio::io_context& io, std::string program, std::chrono::milliseconds limit, Done done)
    : io_(io), program_(std::move(program)), limit_(limit), done_(std::move(done)), children_(io) {}

void PathProbe::Begin(const TaskKey& key, PathOrder order) {
  Look& look = looks_[key];
  look.order = std::move(order);
  // Nobody is sent after the one that hangs there.
  if (const PathWish* wish = HangsAlready(look.order)) {
    return EndLater(key, Hung(*wish, "an earlier look at it still hangs"));
  }
  const Result<ChildWork::Id> child =
      children_.Start({program_, "job"}, ToJson(look.order), limit_,
                      [this, key](const ChildWork::Outcome& outcome) { OnLooked(key, outcome); });
  if (child.ok()) {
    look.child = *child;
  } else {
    PathOutcome outcome;
    outcome.status = child.status();
    EndLater(key, std::move(outcome));
  }
}

const PathWish* PathProbe::HangsAlready(const PathOrder& order) {
  std::erase_if(hanging_, [this](const auto& entry) { return !children_.IsThere(entry.second); });
  const auto hangs = [this](const PathWish& wish) {
    return std::any_of(hanging_.begin(), hanging_.end(),
                       [&](const auto& entry) { return IsWithin(wish.path, entry.first); });
  };
  const auto it = std::find_if(order.wishes.begin(), order.wishes.end(), hangs);
  return it == order.wishes.end() ? nullptr : &*it;
}

void PathProbe::OnLooked(const TaskKey& key, const ChildWork::Outcome& outcome) {
  const auto it = looks_.find(key);
  if (it == looks_.end()) return;
  const Look& look = it->second;
  PathRecords records = ReadPathRecords(look.order, outcome.output);
  PathOutcome end;
  if (!outcome.in_time && records.looking_at) {
    end = Hung(*records.looking_at, Waited(limit_));
    hanging_[records.looking_at->path] = look.child;
    LogError("event=path_hangs task={} path={}", ToString(key), Quoted(end.hung_path));
  } else if (records.accounts_unread) {
    end.status = Status(StatusCode::kUnavailable, *records.accounts_unread)
                     .WithField("user")
                     .WithFix("see what `getent passwd` says there, and what /etc/nsswitch.conf asks");
    LogError("event=accounts_unread task={} user={} error={}", ToString(key), Quoted(look.order.account->user.name),
             Quoted(*records.accounts_unread));
  } else if (!outcome.in_time && look.order.account && !records.account_fault) {
    end.status = Status(StatusCode::kUnavailable, "this node's accounts do not answer: " + Waited(limit_))
                     .WithField("user")
                     .WithFix("see whether `getent passwd` ends there, and what /etc/nsswitch.conf asks");
    LogError("event=accounts_hang task={} user={}", ToString(key), Quoted(look.order.account->user.name));
  } else if (records.account_fault && !records.account_fault->empty()) {
    end.status = Status(StatusCode::kFailedPrecondition, *records.account_fault)
                     .WithField("user")
                     .WithFix("correct the node's accounts, or the registry with `glim admin user set`");
  } else if (records.answers.size() < look.order.wishes.size()) {
    end.status = Status(StatusCode::kInternal,
                        program_ + " ended " + outcome.end + " before it had looked at what the job names")
                     .WithFix("see the node's kernel log");
  }
  end.answers = std::move(records.answers);
  End(key, end);
}

void PathProbe::Cancel(const TaskKey& key) {
  const auto it = looks_.find(key);
  if (it == looks_.end()) return;
  children_.Cancel(it->second.child);
  PathOutcome outcome;
  outcome.stopped = true;
  EndLater(key, std::move(outcome));
}

void PathProbe::EndLater(const TaskKey& key, PathOutcome outcome) {
  boost::asio::post(io_, [this, key, outcome = std::move(outcome)] { End(key, outcome); });
}

void PathProbe::End(const TaskKey& key, const PathOutcome& outcome) {
  if (stopped_ || looks_.erase(key) == 0) return;
  done_(key, outcome);
}

void PathProbe::Stop() {
  stopped_ = true;
  looks_.clear();
  children_.Stop();
}

}  // namespace glim::nodeagent
