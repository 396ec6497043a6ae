// What is shown of tokens, secrets, the audit trail and the caller. Pure: messages of the API in, text out; the present
// is handed in.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

// "ends in 12 h", "ended 3 min ago", "never ends" (0).
std::string EndText(std::int64_t expires_at_ms, TimePoint now);

std::string TokensTable(const glim::v1::ListTokensResponse& tokens, TimePoint now, bool colour);
std::string SecretsTable(const glim::v1::ListSecretsResponse& secrets, TimePoint now, bool colour);
// One line and a newline: time, number, who, from where, what, and what came of it.
std::string AuditLine(const glim::v1::AuditEntry& entry, bool colour);
// `fingerprint`: of the authority that the scheduler is known by; empty: plaintext.
std::string WhoamiText(const glim::v1::WhoAmIResponse& who, const std::string& server, const std::string& fingerprint,
                       TimePoint now);

}  // namespace glim::cli
