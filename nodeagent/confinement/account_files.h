// What a container's /etc/passwd, /etc/group and /etc/hosts say beyond the node's own: a name for the task's user and
// groups, who may be in the cluster's registry alone or in a directory that the container cannot ask, and an address
// for the container's host name. Without these ssh, git over ssh, `whoami` and `getpwuid` fail. Pure.
#pragma once

#include <string>

#include "nodeagent/task/task_user.h"

namespace glim::nodeagent {

struct TaskAccount {
  TaskUser user;
  std::string name;  // of the cluster's registry; empty: it says none
  std::string home;
};

// `passwd`, `group`, `hosts`: the node's files, with a last line end or without; empty: the node has none. Each is
// returned as it is if it knows what is asked already. A name that stands for another id there is not given twice: the
// line has `glim-ID` instead.
std::string PasswdWith(const std::string& passwd, const TaskAccount& account);
std::string GroupWith(const std::string& group, const TaskAccount& account);
// `address`: an IP address under which the container's peers find it; empty: the loopback address that Debian gives a
// host's own name.
std::string HostsWith(const std::string& hosts, const std::string& host_name, const std::string& address);

}  // namespace glim::nodeagent
