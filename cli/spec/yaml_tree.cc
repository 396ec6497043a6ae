#include "cli/spec/yaml_tree.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "cli/text/text.h"
#include "sdk/base/utf8.h"

namespace glim::cli {
namespace {

// Keys and tags may hold escaped control characters, of which CheckBytes sees nothing.
YamlMark FromYaml(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Carries a refusal out of yaml-cpp's parser; never leaves this file.
struct Refused {
  Status status;
};

// Builds one document's tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::string_view source, const YamlLimits& limits)
      : lines_(text), source_(source), limits_(limits) {}

  YamlPtr TakeRoot() {
    anchors_.clear();
    return std::move(root_);
  }

  // yaml-cpp takes what follows a complete value for another document: {name: a} {name: b} would be two jobs.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (first_) {
      first_ = false;
    } else if (!LineAt(mark.line).starts_with("---")) {
      Refuse(mark, "text behind the end of a document", "write '---' on a line of its own between two jobs");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = NewNode(YamlNode::Kind::kNull, mark);
    Keep(anchor, node);
    Add(std::move(node), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "an alias cannot stand inside what it names");
    Add(found->second, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    auto node = NewNode(YamlNode::Kind::kScalar, mark);
    node->scalar = value;
    node->quoted = tag == "!";
    Keep(anchor, node);
    Add(std::move(node), mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMapping, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    std::optional<YamlEntry> pending;  // a key that waits for its value
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

  [[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& message, std::string fix = "") {
    throw Refused{YamlError(source_, FromYaml(mark), "", message, std::move(fix))};
  }

  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Refuse(mark, fmt::format("the tag '{}' is not supported", Shown(tag)), "leave tags out");
  }

  std::shared_ptr<YamlNode> NewNode(YamlNode::Kind kind, const YAML::Mark& mark) {
    if (++nodes_ > limits_.nodes_max) Refuse(mark, fmt::format("more than {} values in the file", limits_.nodes_max));
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = FromYaml(mark);
    return node;
  }

  void Keep(YAML::anchor_t anchor, const std::shared_ptr<YamlNode>& node) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    CheckTag(mark, tag);
    if (static_cast<int>(stack_.size()) >= limits_.depth_max) {
      Refuse(mark, fmt::format("nested deeper than {} levels", limits_.depth_max));
    }
    if (!stack_.empty() && stack_.back().node->kind == YamlNode::Kind::kMapping && !stack_.back().pending) {
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

  void Add(std::shared_ptr<const YamlNode> node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == YamlNode::Kind::kMapping && !frame.pending) {
      AddKey(frame, *node, mark);
      return;
    }
    // Aliases let a shallow text describe a deep tree: the height counts what they name.
    frame.node->height = std::max(frame.node->height, node->height + 1);
    if (frame.node->height > limits_.depth_max) {
      Refuse(mark, fmt::format("nested deeper than {} levels", limits_.depth_max));
    }
    if (frame.node->kind == YamlNode::Kind::kSequence) {
      frame.node->items.push_back(std::move(node));
      return;
    }
    frame.pending->value = std::move(node);
    frame.node->entries.push_back(*std::move(frame.pending));
    frame.pending.reset();
  }

  void AddKey(Frame& frame, const YamlNode& key, const YAML::Mark& mark) {
    if (key.kind != YamlNode::Kind::kScalar) Refuse(mark, "a key must be a plain word");
    if (!frame.keys.insert(key.scalar).second) {
      Refuse(mark, fmt::format("key '{}' stands here twice", Shown(key.scalar)), "keep one of them");
    }
    frame.pending = YamlEntry{key.scalar, FromYaml(mark), nullptr};
  }

  std::string_view lines_;  // the text from line_ on
  int line_ = 0;
  bool first_ = true;
  std::string_view source_;
  const YamlLimits& limits_;
  std::size_t nodes_ = 0;
  YamlPtr root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, YamlPtr> anchors_;
};

YamlMark MarkAt(std::string_view text, std::size_t offset) {
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

Status CheckBytes(std::string_view text, std::string_view source, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return InvalidArgument("", fmt::format("{}: {} bytes, at most {} are read", source, text.size(), limits.bytes_max));
  }
  if (const auto at = FirstInvalidUtf8(text); at != std::string_view::npos) {
    return YamlError(source, MarkAt(text, at), KeyOfLine(text, at), "not UTF-8", "save the file as UTF-8");
  }
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (IsControl(c.code) && c.code != '\n' && c.code != '\t' && c.code != '\r') {
      return YamlError(source, MarkAt(text, at), KeyOfLine(text, at),
                       fmt::format("control character {}", Escaped(text.substr(at, c.size))), "remove it");
    }
    at += c.size;
  }
  return Status::Ok();
}

Result<std::vector<YamlPtr>> ParseDocuments(std::string_view text, std::string_view source, const YamlLimits& limits) {
  std::vector<YamlPtr> documents;
  TreeBuilder builder(text, source, limits);
  // yaml-cpp takes a quoted text that is never closed for one that ends with the file; an end mark makes it see that.
  std::istringstream stream(std::string(text) + "\n...\n");
  YAML::Parser parser(stream);
  std::size_t seen = 0;
  while (parser.HandleNextDocument(builder)) {
    if (++seen > limits.documents_max) {
      return InvalidArgument("", fmt::format("{}: more than {} documents", source, limits.documents_max),
                             "split the file");
    }
    YamlPtr root = builder.TakeRoot();
    if (root && root->kind != YamlNode::Kind::kNull) documents.push_back(std::move(root));
  }
  return documents;
}

}  // namespace

Status YamlError(std::string_view source, YamlMark mark, std::string field, std::string_view message, std::string fix) {
  return InvalidArgument(std::move(field), fmt::format("{}:{}:{}: {}", source, mark.line, mark.column, message),
                         std::move(fix));
}

Result<std::vector<YamlPtr>> ParseYaml(std::string_view text, std::string_view source, const YamlLimits& limits) {
  if (Status bytes = CheckBytes(text, source, limits); !bytes.ok()) return bytes;
  try {
    return ParseDocuments(text, source, limits);
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const YAML::Exception& error) {
    const YamlMark mark = error.mark.is_null() ? YamlMark{} : FromYaml(error.mark);
    return YamlError(source, mark, "", fmt::format("not valid YAML: {}", Shorten(Escaped(error.msg), 200)));
  } catch (const std::exception& error) {
    return InvalidArgument("", fmt::format("{}: not valid YAML: {}", source, error.what()));
  }
}

std::string DescribeFound(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kSequence: return "a list";
    case YamlNode::Kind::kMapping: return "a mapping";
    case YamlNode::Kind::kScalar: break;
  }
  const std::string shown = Shorten(Escaped(node.scalar), 40);
  return node.quoted ? fmt::format("the text \"{}\"", shown) : fmt::format("'{}'", shown);
}

}  // namespace glim::cli
