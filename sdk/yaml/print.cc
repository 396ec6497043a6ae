#include "sdk/yaml/print.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include <yaml-cpp/emitter.h>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"

namespace glim::yaml {
namespace {

constexpr std::size_t kLineMax = 100;  // of a list in one line

// What YAML 1.1 or 1.2 takes for something else than a text. As a key, people write `on`.
constexpr std::string_view kWords[] = {"null", "true", "false", "y", "n", "yes", "no", "on", "off"};
constexpr std::size_t kWordsOfKeys = 3;

bool IsWord(std::string_view text, std::size_t words) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(std::begin(kWords), std::begin(kWords) + words, lower) != std::begin(kWords) + words;
}

// A text that is the same without quotes to every reader, also inside of [a, b].
bool IsPlain(std::string_view text, std::size_t words = std::size(kWords)) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || (c != 0 && std::strchr("_-./+@", c)); };
  if (text.empty() || !std::all_of(text.begin(), text.end(), fits)) return false;
  const auto first = static_cast<unsigned char>(text.front());
  return (std::isalpha(first) != 0 || first == '/' || first == '_') && !IsWord(text, words);
}

// Likewise, as a value on its key's line: "python train.py --lr 0.1".
bool IsPlainLine(std::string_view text) {
  if (text.empty() || text.back() == ' ' || IsWord(text, std::size(kWords))) return false;
  const auto fits = [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != ':' && c != '#'; };
  const auto first = static_cast<unsigned char>(text.front());
  const bool begins = std::isalpha(first) != 0 || first == '/' || first == '_';
  return begins && std::all_of(text.begin(), text.end(), fits);
}

// Lines that a block ("|") keeps as they are.
bool IsBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n') return false;
  if (text.ends_with("\n\n")) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f); });
}

// Invisible characters are escaped, and then all that are not ASCII: the emitter offers no other choice.
std::string Quoted(const std::string& text) {
  YAML::Emitter emitter;
  bool unseen = false;
  for (std::size_t at = 0; at < text.size() && !unseen;) {
    const Utf8Char c = DecodeUtf8(std::string_view(text).substr(at));
    unseen = c.ok && IsDeceptive(c.code);
    at += c.size;
  }
  emitter.SetOutputCharset(unseen ? YAML::EscapeNonAscii : YAML::EmitNonAscii);
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

std::string Key(const std::string& key) { return IsPlain(key, kWordsOfKeys) ? key : Quoted(key); }

std::string InLine(const Node& node);

std::string InLine(const std::vector<NodePtr>& items) {
  std::string text = "[";
  for (const NodePtr& item : items) text += (text.size() > 1 ? ", " : "") + InLine(*item);
  return text + "]";
}

std::string InLine(const std::vector<Entry>& entries) {
  std::string text = "{";
  for (const Entry& entry : entries) {
    text += (text.size() > 1 ? ", " : "") + Key(entry.key) + ": " + InLine(*entry.value);
  }
  return text + "}";
}

std::string InLine(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kScalar: return !node.quoted || IsPlain(node.scalar) ? node.scalar : Quoted(node.scalar);
    case Node::Kind::kSequence: return InLine(node.items);
    case Node::Kind::kMapping: return InLine(node.entries);
  }
  return "";
}

class Printer {
 public:
  void Print(const std::vector<Entry>& entries, std::size_t indent) {
    for (const Entry& entry : entries) {
      out_ += std::string(indent, ' ') + Key(entry.key) + ":";
      Value(*entry.value, indent + 2);
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Value(const Node& node, std::size_t indent) {
    if (node.IsMapping() && !node.entries.empty()) {
      out_ += "\n";
      return Print(node.entries, indent);
    }
    if (node.IsScalar() && node.quoted && IsBlock(node.scalar)) return Block(node.scalar, indent);
    const std::string line = node.IsScalar() && node.quoted && IsPlainLine(node.scalar) ? node.scalar : InLine(node);
    if (!node.IsSequence() || (line.size() <= kLineMax && !HasMappings(node))) {
      out_ += " " + line + "\n";
      return;
    }
    out_ += "\n";
    for (const NodePtr& item : node.items) out_ += std::string(indent, ' ') + "- " + InLine(*item) + "\n";
  }

  static bool HasMappings(const Node& list) {
    return std::any_of(list.items.begin(), list.items.end(), [](const NodePtr& item) { return item->IsMapping(); });
  }

  void Block(std::string_view text, std::size_t indent) {
    const bool ends = text.ends_with('\n');
    out_ += ends ? " |\n" : " |-\n";
    if (ends) text.remove_suffix(1);
    while (true) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) out_ += std::string(indent, ' ') + std::string(text.substr(0, end));
      out_ += "\n";
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }

  std::string out_;
};

}  // namespace

NodePtr Text(std::string text) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kScalar;
  node->scalar = std::move(text);
  node->quoted = true;
  return node;
}

NodePtr Plain(std::string scalar) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kScalar;
  node->scalar = std::move(scalar);
  return node;
}

NodePtr List(std::vector<NodePtr> items) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kSequence;
  node->items = std::move(items);
  return node;
}

NodePtr Mapping(std::vector<Entry> entries) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kMapping;
  node->entries = std::move(entries);
  return node;
}

std::string Print(const Node& root) {
  Printer printer;
  printer.Print(root.entries, 0);
  return printer.Take();
}

}  // namespace glim::yaml
