// Which abstract sockets of this machine are root's. They have no file, and so no permissions: whoever shares the
// machine's network, as tasks do, can connect to them.
#pragma once

#include <string>
#include <vector>

namespace glim::nodeagent {

// The names on which processes of root's listen, without the '@' that /proc puts before them; sorted, each once. It
// reads /proc of all processes: some ten milliseconds on a large node, so never on the agent's loop. `proc` is another
// folder only in tests.
std::vector<std::string> RootsAbstractSockets(const std::string& proc = "/proc");

// Names to tell others: at most 32 of at most 108 bytes, a line each, '?' for what cannot be shown.
std::string ToSocketLines(const std::vector<std::string>& names);
std::vector<std::string> ReadSocketLines(const std::string& text);

}  // namespace glim::nodeagent
