// What a check of `glim doctor` is, and what it found. Values; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glim::cli::doctor {

enum class Role { kClient, kNode, kServer };
// In the order in which people are shown them.
enum class Verdict { kFault, kWarning, kSkipped, kOk };

// What a check comes to.
struct Outcome {
  Verdict verdict = Verdict::kOk;
  std::string seen;  // never a secret
  std::string fix;   // empty: nothing is to be mended
};
inline Outcome Good(std::string seen) { return {Verdict::kOk, std::move(seen), ""}; }
inline Outcome Warning(std::string seen, std::string fix) {
  return {Verdict::kWarning, std::move(seen), std::move(fix)};
}
inline Outcome Fault(std::string seen, std::string fix) { return {Verdict::kFault, std::move(seen), std::move(fix)}; }
// What was not looked at says why.
inline Outcome Skipped(std::string why, std::string fix = "") {
  return {Verdict::kSkipped, std::move(why), std::move(fix)};
}

struct Check {
  Role role;
  const char* name;
  const char* looks_at;
  const char* why;  // it matters
};

// All that there are, in the order in which they are told. docs/operations/doctor.md has the same table, and a test
// compares the two.
const std::vector<Check>& AllChecks();
// The check of that name; it is there (CHECK).
const Check& CheckNamed(Role role, std::string_view name);

struct Finding {
  const Check* check;
  Outcome outcome;
};

const char* WordOf(Role role);        // client, node, server
const char* WordOf(Verdict verdict);  // ok, warning, fault, skipped
std::optional<Role> RoleOf(std::string_view word);

// Faults first, then warnings, then what was skipped; else in the checks' order.
std::vector<Finding> InOrder(std::vector<Finding> findings);
int CountOf(const std::vector<Finding>& findings, Verdict verdict);

}  // namespace glim::cli::doctor
