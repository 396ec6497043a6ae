// A tree (tree.h) as YAML text that Parse reads back to the same, and people like to read: lists of plain words in one
// line, texts of several lines as blocks, quotes only where a reader could take a text for something else. Pure.
#pragma once

#include <string>

#include "sdk/yaml/tree.h"

namespace glim::yaml {

// A text: quoted where it has to be.
NodePtr Text(std::string text);
// A number, a time, true: written as it stands.
NodePtr Plain(std::string scalar);
NodePtr List(std::vector<NodePtr> items);
NodePtr Mapping(std::vector<Entry> entries);

// `root` is a mapping.
std::string Print(const Node& root);

}  // namespace glim::yaml
