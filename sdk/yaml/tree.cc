#include "sdk/yaml/tree.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"
#include "sdk/yaml/lookalikes.h"

namespace glim::yaml {
namespace {

// Keys and tags may hold escaped control characters, of which CheckBytes sees nothing.
Mark FromYaml(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

constexpr std::size_t kShownMax = 64;  // characters of a stranger's word in a message

Status RefuseWhole(const Source& source, const std::string& message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, std::string(source.name) + ": " + message)
      .WithReason(std::string(source.reason))
      .WithFix(std::move(fix));
}

// Carries a refusal out of yaml-cpp's parser; never leaves this file.
struct Refused {
  Status status;
};

// Builds one document's tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const Source& source, const Limits& limits)
      : lines_(text), source_(source), limits_(limits) {}

  NodePtr TakeRoot() {
    anchors_.clear();
    return std::move(root_);
  }

  // yaml-cpp takes what follows a complete value for another document: {name: a} {name: b} would be two jobs.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_++ > 0 && !LineAt(mark.line).starts_with("---")) {
      Refuse(mark, "text behind the end of a document", "write '---' on a line of its own between two documents");
    }
    if (limits_.documents_max == 1 && seen_ > 1) Refuse(mark, "a second document begins here", "keep one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = NewNode(Node::Kind::kNull, mark);
    Keep(anchor, node);
    Add(std::move(node), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!limits_.aliases) Refuse(mark, "aliases are not taken here", "write out what it stands for");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "an alias cannot stand inside what it names");
    Add(found->second, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    auto node = NewNode(Node::Kind::kScalar, mark);
    node->scalar = value;
    node->quoted = tag == "!";
    if (!node->quoted) CheckWord(mark, value);
    Keep(anchor, node);
    Add(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Node::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Node::Kind::kMapping, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    std::optional<Entry> pending;  // a key that waits for its value
    std::unordered_set<std::string> keys;
  };

  // The rest of the text from line `line` on, counted from 0; it is asked for in rising order.
  std::string_view LineAt(int line) {
    for (; line_ < line; ++line_) {
      const auto end = lines_.find('\n');
      lines_.remove_prefix(end == std::string_view::npos ? lines_.size() : end + 1);
    }
    return lines_;
  }

  [[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& message, std::string fix = "",
                           std::string field = "") {
    throw Refused{RefuseIn(source_, FromYaml(mark), std::move(field), message, std::move(fix))};
  }

  // Of `key` in the mapping that is being read: "quotas.users.kim", "links[2].zone_a".
  std::string PathOf(const std::string& key) const {
    std::string path;
    for (const Frame& frame : stack_) {
      if (&frame == &stack_.back()) break;
      if (frame.pending) path += (path.empty() ? "" : ".") + EscapedStart(frame.pending->key, kShownMax);
      if (frame.node->IsSequence()) path += "[" + std::to_string(frame.node->items.size()) + "]";
    }
    return path + (path.empty() ? "" : ".") + EscapedStart(key, kShownMax);
  }

  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Refuse(mark, "the tag '" + EscapedStart(tag, kShownMax) + "' is not supported", "leave tags out");
  }

  // A key or value without quotes.
  void CheckWord(const YAML::Mark& mark, std::string_view value) {
    // A document that is one word has most often lost its colon.
    if (const auto found = stack_.empty() ? FindCulprit(value, 0) : FindInWord(value)) {
      const bool is_value = !stack_.empty() && stack_.back().pending;
      YAML::Mark place = mark;
      const std::string_view line = LineAt(mark.line);
      const auto column = static_cast<std::size_t>(mark.column);
      if (column < line.size() && line.substr(column).starts_with(value.substr(0, found->offset))) {
        place.column += static_cast<int>(found->offset);  // else it is folded, of several lines
      }
      Refuse(place, found->message, found->fix, is_value ? PathOf(stack_.back().pending->key) : "");
    }
  }

  std::shared_ptr<Node> NewNode(Node::Kind kind, const YAML::Mark& mark) {
    if (++nodes_ > limits_.nodes_max)
      Refuse(mark, "more than " + std::to_string(limits_.nodes_max) + " values in the file", "make it smaller");
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->mark = FromYaml(mark);
    return node;
  }

  void Keep(YAML::anchor_t anchor, const std::shared_ptr<Node>& node) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
  }

  void Open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    CheckTag(mark, tag);
    if (static_cast<int>(stack_.size()) >= limits_.depth_max) {
      Refuse(mark, "nested deeper than " + std::to_string(limits_.depth_max) + " levels", "flatten it");
    }
    if (!stack_.empty() && stack_.back().node->kind == Node::Kind::kMapping && !stack_.back().pending) {
      Refuse(mark, "a key must be a plain word, not a list or a mapping");
    }
    stack_.push_back(Frame{NewNode(kind, mark), anchor, mark, std::nullopt, {}});
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Keep(frame.anchor, frame.node);
    Add(std::move(frame.node), frame.mark);
  }

  void Add(std::shared_ptr<const Node> node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == Node::Kind::kMapping && !frame.pending) {
      AddKey(frame, *node, mark);
      return;
    }
    // Aliases let a shallow text describe a deep tree: the height counts what they name.
    frame.node->height = std::max(frame.node->height, node->height + 1);
    if (frame.node->height > limits_.depth_max) {
      Refuse(mark, "nested deeper than " + std::to_string(limits_.depth_max) + " levels", "flatten it");
    }
    if (frame.node->kind == Node::Kind::kSequence) {
      frame.node->items.push_back(std::move(node));
      return;
    }
    frame.pending->value = std::move(node);
    frame.node->entries.push_back(*std::move(frame.pending));
    frame.pending.reset();
  }

  void AddKey(Frame& frame, const Node& key, const YAML::Mark& mark) {
    if (key.kind != Node::Kind::kScalar) Refuse(mark, "a key must be a plain word");
    if (!frame.keys.insert(key.scalar).second) {
      Refuse(mark, "key '" + EscapedStart(key.scalar, kShownMax) + "' stands here twice", "keep one of them",
             PathOf(key.scalar));
    }
    frame.pending = Entry{key.scalar, FromYaml(mark), nullptr};
  }

  std::string_view lines_;  // the text from line_ on
  int line_ = 0;
  std::size_t seen_ = 0;  // documents
  const Source& source_;
  const Limits& limits_;
  std::size_t nodes_ = 0;
  NodePtr root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
};

Mark MarkAt(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line_start = before.rfind('\n');
  const auto column = line_start == std::string_view::npos ? offset : offset - line_start - 1;
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), 1 + static_cast<int>(column)};
}

// The key in front of `offset` on its line, so that a refusal of raw bytes can name the field.
std::string KeyOfLine(std::string_view text, std::size_t offset) {
  auto start = text.substr(0, offset).rfind('\n');
  start = start == std::string_view::npos ? 0 : start + 1;
  std::string_view line = text.substr(start, offset - start);
  while (!line.empty() && (line.front() == ' ' || line.front() == '-')) line.remove_prefix(1);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view key = line.substr(0, colon);
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return std::all_of(key.begin(), key.end(), word) ? std::string(key) : "";
}

Status CheckBytes(std::string_view text, const Source& source, const Limits& limits) {
  if (text.size() > limits.bytes_max) {
    return RefuseWhole(
        source, std::to_string(text.size()) + " bytes, at most " + std::to_string(limits.bytes_max) + " are read",
        "make it smaller");
  }
  if (const auto at = FirstInvalidUtf8(text); at != std::string_view::npos) {
    return RefuseIn(source, MarkAt(text, at), KeyOfLine(text, at), "not UTF-8", "save the file as UTF-8");
  }
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (IsControl(c.code) && c.code != '\n' && c.code != '\t' && c.code != '\r') {
      return RefuseIn(source, MarkAt(text, at), KeyOfLine(text, at),
                      "control character " + Escaped(text.substr(at, c.size)), "remove it");
    }
    at += c.size;
  }
  if (const auto found = FindUnseen(text)) {
    return RefuseIn(source, MarkAt(text, found->offset), KeyOfLine(text, found->offset), found->message, found->fix);
  }
  return Status::Ok();
}

// Behind the parser's words stands what on that line looks like YAML and is none.
Status RefuseNoYaml(std::string_view text, const Source& source, const YAML::Exception& error) {
  const Mark mark = error.mark.is_null() ? Mark{} : FromYaml(error.mark);
  std::size_t begin = 0;
  for (int line = 1; line < mark.line && begin < text.size(); ++line) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  if (const auto found = FindCulprit(text, begin)) {
    return RefuseIn(source, MarkAt(text, found->offset), KeyOfLine(text, found->offset),
                    "not valid YAML: " + found->message, found->fix);
  }
  return RefuseIn(source, mark, "", "not valid YAML: " + EscapedStart(error.msg, 200));
}

Result<std::vector<NodePtr>> ParseDocuments(std::string_view text, const Source& source, const Limits& limits) {
  std::vector<NodePtr> documents;
  TreeBuilder builder(text, source, limits);
  // yaml-cpp takes a quoted text that is never closed for one that ends with the file; an end mark makes it see that.
  std::istringstream stream(std::string(text) + "\n...\n");
  YAML::Parser parser(stream);
  std::size_t seen = 0;
  while (parser.HandleNextDocument(builder)) {
    if (++seen > limits.documents_max) {
      return RefuseWhole(source, "more than " + std::to_string(limits.documents_max) + " documents", "split the file");
    }
    NodePtr root = builder.TakeRoot();
    if (root && root->kind != Node::Kind::kNull) documents.push_back(std::move(root));
  }
  return documents;
}

}  // namespace

const Entry* Node::Find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

Mark Node::PlaceOf(std::string_view path) const {
  const Node* node = this;
  while (!path.empty()) {
    const Node* next = nullptr;
    if (path.front() == '[') {
      std::size_t index = node->items.size();
      const std::size_t close = path.find(']');
      if (close == std::string_view::npos) break;
      std::from_chars(path.data() + 1, path.data() + close, index);
      if (index < node->items.size()) next = node->items[index].get();
      path.remove_prefix(close + 1);
    } else {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      const Entry* entry = node->Find(path.substr(0, end));
      if (entry != nullptr) next = entry->value.get();
      path.remove_prefix(end);
    }
    if (next == nullptr) break;
    node = next;
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return node->mark;
}

Status RefuseIn(const Source& source, Mark mark, std::string field, std::string_view message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::string(source.name) + ":" + std::to_string(mark.line) + ":" +
                                                  std::to_string(mark.column) + ": " + std::string(message))
      .WithReason(std::string(source.reason))
      .WithField(std::move(field))
      .WithFix(std::move(fix));
}

Result<std::vector<NodePtr>> Parse(std::string_view text, const Source& source, const Limits& limits) {
  if (Status bytes = CheckBytes(text, source, limits); !bytes.ok()) return bytes;
  try {
    return ParseDocuments(text, source, limits);
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const YAML::Exception& error) {
    return RefuseNoYaml(text, source, error);
  } catch (const std::exception& error) {
    return RefuseWhole(source, "not valid YAML: " + EscapedStart(error.what(), 200));
  }
}

Result<NodePtr> ParseOne(std::string_view text, const Source& source) {
  Limits limits;
  limits.documents_max = 1;
  limits.nodes_max = 200'000;
  limits.aliases = false;
  auto documents = Parse(text, source, limits);
  if (!documents.ok()) return documents.status();
  return documents->empty() ? std::make_shared<const Node>() : documents->front();
}

std::string DescribeFound(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kSequence: return "a list";
    case Node::Kind::kMapping: return "a mapping";
    case Node::Kind::kScalar: break;
  }
  const std::string shown = EscapedStart(node.scalar, 40);
  return node.quoted ? "the text \"" + shown + "\"" : "'" + shown + "'";
}

}  // namespace glim::yaml
