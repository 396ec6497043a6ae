// One pattern as git's ignore files match it: `*`, `?` and `[a-z]` stay within a name, `**/`, `/**/` and `/**` span
// folders.
// Immutable; any thread. Matching takes time in proportion to pattern times text, whatever the pattern is.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace glim::cli {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // The whole of `text` is matched, never a part.
  bool Matches(std::string_view text) const;

 private:
  using Set = std::bitset<256>;
  enum class Kind {
    kOne,       // a character of `set`
    kStar,      // any run of characters but '/'
    kFolders,   // "**/": nothing, or any run that ends with '/'
    kAnything,  // "**" at the end
  };
  struct Token {
    Kind kind = Kind::kOne;
    Set set;
  };

  void Read(std::string_view pattern);
  // Both return where the pattern goes on; npos: it can never match.
  std::size_t ReadStars(std::string_view pattern, std::size_t at);
  std::size_t ReadSet(std::string_view pattern, std::size_t at);
  void AddOne(const Set& set) { tokens_.push_back({Kind::kOne, set}); }

  std::string literal_;  // a pattern without wildcards, which is most of them
  bool is_literal_ = false;
  bool never_ = false;  // it is malformed, and matches nothing
  std::size_t first_wildcard_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace glim::cli
