// What a user may do, what a token is for, and how a token came to be. Values; each enumeration's order counts.
#pragma once

#include <cstdint>

namespace glim::core {

// Ordered: who has more may do what who has less may. kNone: nobody. kTeamAdmin is of a user for one team
// (User::admin_of), and never a user's own role.
enum class Role : std::uint8_t { kNone, kViewer, kUser, kTeamAdmin, kOperator, kAdmin };
const char* ToString(Role role);

// Ordered: kSubmit reads as well, and changes what is the user's own; kAll is whatever the user may do.
enum class Scope : std::uint8_t { kRead, kSubmit, kAll };
const char* ToString(Scope scope);

enum class TokenOrigin : std::uint8_t { kFirst, kPersonal, kLogin, kOidc, kBreakGlass, kJob };
const char* ToString(TokenOrigin origin);

}  // namespace glim::core
