// Characters that look like a space, like nothing or like a mark of YAML's, and are none of these: copied from a page,
// a chat or a word processor they make a text that looks right mean something else. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace glim::yaml {

// What is wrong with the character at `offset`, and how to mend it.
struct Lookalike {
  std::size_t offset = 0;
  std::string message;
  std::string fix;
};

// Of a whole text, valid UTF-8: what is never right outside of a comment. A character that nobody sees, a byte order
// mark in mid-text, a carriage return that ends no line.
std::optional<Lookalike> FindUnseen(std::string_view text);

// Of a key or value as it was written, without quotes: a blank that YAML does not take for one; at the begin, a
// quotation mark or a list's dash that it does not take for one; behind a name, a colon.
std::optional<Lookalike> FindInWord(std::string_view word);

// Of a text that is no YAML at `offset`: what on that line, or on the last one before it with anything on it, may be
// the reason. A tab that indents, and what FindInWord finds, and punctuation of full width.
std::optional<Lookalike> FindCulprit(std::string_view text, std::size_t offset);

}  // namespace glim::yaml
