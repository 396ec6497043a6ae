// The pools and zones that a policy file speaks of. Whether they exist only the cluster knows: the file is read first,
// and what it names is held against the nodes afterwards.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sdk/yaml/fields.h"

namespace glim::server {

struct PolicyNames {
  struct Mention {
    bool zone = false;  // else a pool
    std::string name;
    std::string field;  // "quotas.pools.a100"
    int line = 1;       // counted from 1
    int column = 1;
  };
  std::set<std::string> pools;  // declared: to be, though no node of theirs has registered yet
  std::set<std::string> zones;
  std::vector<Mention> mentions;
};

// Of nodes, and of the rows that operators set.
struct KnownNames {
  std::set<std::string> pools;
  std::set<std::string> zones;
  bool any_node = false;
};

// `pools: [a, b]` and `zones: [A, B]`.
Status ReadNameList(const yaml::Node& value, const std::string& path, std::set<std::string>* names);
void Mention(bool zone, const std::string& name, yaml::Mark where, const std::string& field, PolicyNames* names);

// Refuses the first mention of a pool or zone that neither a node nor the file's own list has: "12:5:
// quotas.pools.a100: ...". Where no node has ever registered nothing can be held against it: then each becomes one of
// `warnings`.
Status CheckNames(const PolicyNames& names, const KnownNames& known, std::vector<std::string>* warnings);

// Refuses a pool, or a zone, that does not exist (NO_SUCH_POOL, NO_SUCH_ZONE); the fix names those that do.
Status CheckIsKnown(bool zone, const std::string& field, const std::string& name,
                    const std::set<std::string>& existing);

// "kim", or "\"007\"" where YAML would take it for something else.
std::string YamlName(const std::string& name);
// The declared lists as the file would have them; nothing if there are none.
std::string NamesYaml(const PolicyNames& names);
void FlattenNames(const PolicyNames& names, std::map<std::string, std::string>* out);

}  // namespace glim::server
