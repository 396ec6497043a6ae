// "did you mean": the known word that is nearest to one that is not known. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace glim::cli {

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. Cut off at 64 characters.
int EditDistance(std::string_view a, std::string_view b);

// Nearest of `words`, or "" when none is near (a third of the word's length, at least 1, at most 3). Upper case,
// '-' and '_' do not count (gpusPerNode is gpus_per_node), and a word's beginning is near it.
std::string Nearest(std::string_view word, std::span<const std::string_view> words);

}  // namespace glim::cli
