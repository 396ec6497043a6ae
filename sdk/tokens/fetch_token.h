// Who may copy a save: whoever shows the token that the scheduler made for this reader, this job and this save.
//
// Each agent draws a key when it starts and tells the scheduler alone (Hello.save_key). A token is the hexadecimal
// HMAC-SHA-256, under that key, of what may be read and who reads. The scheduler makes tokens and the agent checks
// them, both by these functions. Stateless, safe from any thread. docs/protocols/save-copy.md.
#pragma once

#include <cstdint>
#include <string>

namespace glim {

inline constexpr std::size_t kSaveKeyDigits = 64;
inline constexpr std::size_t kFetchTokenDigits = 64;

// 32 random bytes as 64 hexadecimal digits. Never logged.
std::string MakeSaveKey();

// `key`: Hello.save_key of the agent that has the save, as it is; `local`: the save's path in the job's checkpoint
// folder; `reader`: the name of the node that copies it. 64 hexadecimal digits.
std::string FetchToken(const std::string& key, std::uint64_t job, const std::string& local, const std::string& reader);

// Whether two tokens are the same, in a time that tells nothing of where they differ.
bool SameToken(const std::string& a, const std::string& b);

}  // namespace glim
