#include "scheduler/gateway/openapi/comments.h"

#include <cctype>
#include <type_traits>

namespace glim::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;

// Lines of a comment as one, without what stands around them.
std::string Joined(const std::string& comment) {
  std::string text;
  for (const char c : comment) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// The two comments of one thing. protoc takes the second line of what stands behind a field for what stands before the
// next one; the comma tells.
struct Comments {
  std::string before, behind;
  bool goes_on() const { return behind.ends_with(','); }
};

template <typename Described>
Comments CommentsOf(const Described& described) {
  google::protobuf::SourceLocation location;
  if (!described.GetSourceLocation(&location)) return {};
  return {Joined(location.leading_comments), Joined(location.trailing_comments)};
}

// Of the message, so many fields further; null: none.
const FieldDescriptor* Neighbour(const FieldDescriptor& field, int away) {
  const int at = field.index() + away;
  const bool is_there = at >= 0 && at < field.containing_type()->field_count();
  return is_there ? field.containing_type()->field(at) : nullptr;
}

}  // namespace

template <typename Described>
std::string CommentOf(const Described& described) {
  auto [before, behind] = CommentsOf(described);
  if constexpr (std::is_same_v<Described, FieldDescriptor>) {
    const FieldDescriptor* const last = Neighbour(described, -1);
    const FieldDescriptor* const next = Neighbour(described, 1);
    if (last != nullptr && CommentsOf(*last).goes_on()) before.clear();
    if (next != nullptr && behind.ends_with(',')) behind += " " + CommentsOf(*next).before;
  }
  if (before.empty() || behind.empty()) return before + behind;
  return before + (before.ends_with('.') ? " " : ". ") + behind;
}

template std::string CommentOf(const Descriptor&);
template std::string CommentOf(const EnumDescriptor&);
template std::string CommentOf(const FieldDescriptor&);
template std::string CommentOf(const MethodDescriptor&);

std::string InWords(const std::string& camel_case) {
  std::string words;
  for (const char c : camel_case) {
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 && !words.empty();
    if (begins) words += ' ';
    words += begins ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : c;
  }
  return words;
}

}  // namespace glim::gateway
