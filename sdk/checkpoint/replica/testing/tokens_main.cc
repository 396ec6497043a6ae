// For tests in other languages: what a scheduler gives, with the tests' own key.
//   replica_tokens keys                      what an agent writes for its glim-replica
//   replica_tokens token ATTEMPT JOB USER    an attempt's token
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sdk/checkpoint/replica/testing/replica.h"

int main(int argc, char** argv) {
  using namespace glim::checkpoint;  // NOLINT(google-build-using-namespace): a program of twenty lines
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "keys" && argc == 2) {
    std::fputs(TextOf(testing::Issuers()).c_str(), stdout);
    return 0;
  }
  if (what != "token" || argc != 5) {
    std::fputs("replica_tokens keys | token ATTEMPT JOB USER\n", stderr);
    return 2;
  }
  const auto attempt = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  std::puts(testing::TokenFor(attempt, std::strtoull(argv[3], nullptr, 10), argv[4]).c_str());
  return 0;
}
